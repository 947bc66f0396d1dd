"""Static logs and scans -> what sensors get wrong, as rows of the parameter table with intervals."""
