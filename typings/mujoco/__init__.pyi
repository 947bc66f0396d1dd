# MuJoCo's bindings are compiled and ship no stubs.
from typing import Any

def __getattr__(name: str) -> Any: ...
