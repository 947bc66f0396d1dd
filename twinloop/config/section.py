"""Section: a mapping of a config file that is read key by key and refuses unknown keys."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twinloop.config.yaml_file import Lines
from twinloop.errors import ConfigError, nearest


class Section:
    """A mapping in a file. Every error names file, line and key.

    Attributes:
        file: name of the file, for messages.
        path: keys from the root of the file to this mapping, e.g. `rollout`.
        folder: paths in the file are relative to it.
    """

    def __init__(self, file: str, path: str, value: Any, lines: Lines, *, folder: Path = Path()):
        self.file, self.path, self._lines, self.folder = file, path, lines, folder
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise ConfigError(self.where(), f"is {value!r}; a mapping was expected")
        self._values: dict[str, Any] = value
        self._known: set[str] = set()

    def where(self, key: str = "") -> str:
        path = self._path_of(key)
        # A key that is missing has no line; its section has.
        line = self._lines.get(path) or self._lines.get(self.path)
        file = f"{self.file}:{line}" if line and path else self.file
        return ": ".join(part for part in (file, path) if part)

    def error(self, key: str, problem: str) -> ConfigError:
        return ConfigError(self.where(key), problem)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def expect(self, key: str) -> None:
        """Declare `key` as valid here, whether or not the file has it."""
        self._known.add(key)

    def raw(self, key: str) -> Any:
        """The value as the file has it; None where it has none."""
        self.expect(key)
        return self._values.get(key)

    def section(self, key: str, *, short: str = "") -> "Section":
        """The mapping under a key. `short`: a value that is no mapping is the value of this key of the mapping."""
        value = self.raw(key)
        if short and value is not None and not isinstance(value, dict):
            value = {short: value}
        return Section(self.file, self._path_of(key), value, self._lines, folder=self.folder)

    def entries(self, key: str) -> "Section":
        """The list under a key as a section with the keys `[0]`, `[1]`, ..."""
        values = {f"[{index}]": value for index, value in enumerate(self.raw(key))}
        return Section(self.file, self._path_of(key), values, self._lines, folder=self.folder)

    def _path_of(self, key: str) -> str:
        if key.startswith("[") or not key:
            return self.path + key
        return f"{self.path}.{key}" if self.path else key

    def finish(self) -> None:
        """ConfigError for a key that was neither read nor expected."""
        for key in self._values:
            if key not in self._known:
                raise self.error(str(key), f"is not a key of this section; {nearest(str(key), self._known)}")


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
