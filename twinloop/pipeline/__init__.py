"""The order of the stages: configs, generate, resume. Only this folder knows it."""
