"""Control videos of an episode for world models that draw it again in another style, and the restyled film as data."""
