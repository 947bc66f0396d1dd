"""A rehearsal cell: an independent physics engine in its own process that stands in for a robot.

Only `client` and `messages` run in the pipeline's process. The other modules run in the cell's process, which knows the
cell's true parameters.
"""
