"""The safety filter between policy and motors: it turns an action into a command within the limits."""
