"""Data of participants: consent is required to store it, and all copies of it can be removed."""
