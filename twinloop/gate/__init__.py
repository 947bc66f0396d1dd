"""Checkpoint -> Decision: evidence before promotion, and a way back. Nothing here yet."""
