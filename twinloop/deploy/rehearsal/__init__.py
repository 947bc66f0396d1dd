"""A rehearsal cell: an independent physics engine in a process of its own that behaves as a robot would.

Only `client` and `wire` run where the pipeline runs. The rest is the cell's own side and knows the truth.
"""
