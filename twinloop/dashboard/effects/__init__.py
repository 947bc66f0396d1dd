"""Effects -> one small picture of what a row of the table does: a strip of what a camera sees, or curves over time."""
