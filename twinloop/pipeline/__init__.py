"""The order of the stages: generate, explain, diagnose, loop. Only this room knows it."""
