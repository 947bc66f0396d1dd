"""Data of people: it enters with consent, and can be forgotten everywhere it went."""
