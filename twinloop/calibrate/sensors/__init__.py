"""Estimates sensor errors from static logs and scans, as rows of the parameter table with intervals."""
