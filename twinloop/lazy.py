"""Exports of a package that are imported on first use, so that importing one module does not load its whole room."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of `package`.

    Args:
        package: its `__name__`.
        modules: public name -> the module of the package that defines it.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}. Public names: {', '.join(modules)}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return load, lambda: list(modules)
