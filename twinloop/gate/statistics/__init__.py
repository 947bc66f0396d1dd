"""Counts -> what they show: intervals, tests and bounds that are wrong no more often than they say."""
