"""(Episodes, Draws) -> Recording: what is seen of what happened, under which names."""
