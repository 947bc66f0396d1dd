"""An example plugin for Twinloop. Each module defines one object; `pyproject.toml` names them as entry points."""
