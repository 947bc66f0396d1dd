# Optional, and compiled without stubs.
from typing import Any

def __getattr__(name: str) -> Any: ...
