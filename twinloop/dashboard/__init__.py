"""To look instead of to read: reports. Only presents."""
