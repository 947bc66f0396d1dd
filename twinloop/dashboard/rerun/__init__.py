"""Stored episodes -> Rerun recordings: everything of one episode on one timeline. Needs `twinloop[view]`."""
