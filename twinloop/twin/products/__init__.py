"""Procedural products: a pool of at least a hundred different objects for bins."""
