"""Effects -> one small picture of the effect of a row: a strip of camera images, or curves over time."""
