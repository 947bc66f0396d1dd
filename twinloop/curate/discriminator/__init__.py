"""Learned filters: curators that score episodes, and the test of simulated against real episodes."""
