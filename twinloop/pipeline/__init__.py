"""The order of the stages: generate, explain, diagnose, loop. Only this package defines it."""
