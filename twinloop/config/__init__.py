"""Reading and writing files: strict YAML, bounded JSON, and typed records with one reader, writer and JSON Schema."""
