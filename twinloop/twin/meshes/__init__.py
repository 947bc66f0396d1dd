"""A user's meshes as things: readers of mesh files, checks, convex parts, grips and looks."""
