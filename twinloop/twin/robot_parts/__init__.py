"""Parts that shipped robots are built from: links, grippers, and arms that share a table."""
