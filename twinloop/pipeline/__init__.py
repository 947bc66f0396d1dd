"""The order of the stages: generate, evaluate, diagnose, loop. Only this room knows it."""
