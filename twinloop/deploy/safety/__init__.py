"""Between policy and motors: an action comes in, a command within the limits goes out. One concern a file."""
