"""Reading files from users: strict YAML, sections with line numbers, typed records."""
