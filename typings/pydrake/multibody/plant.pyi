# Drake's own stubs mistake the type of an array for its shape.
from typing import Any

def __getattr__(name: str) -> Any: ...
