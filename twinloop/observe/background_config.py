"""BackgroundConfig: pictures of a real place that a camera shows behind the simulated robot."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from twinloop.config.fields import internal, text, word
from twinloop.config.record import Nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.errors import UsageError

PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
MOST_PICTURES = 1024
MOST_BYTES = 64 << 20
Replaced = Literal["room", "table"]
REPLACED: tuple[Replaced, ...] = get_args(Replaced)


@dataclass(frozen=True)
class BackgroundConfig:
    """Pictures behind the simulated robot."""

    pictures: str = text(filled=True, help="a picture or a folder of pictures, relative to the config file")
    replaces: Replaced = word(
        "room", words=REPLACED, help="what they replace: `room` (floor and walls), or `table` (the table as well)"
    )
    folder: Path = internal(Path())

    def problems(self) -> Iterator[tuple[str, str]]:
        try:
            files = self.files
        except UsageError as error:
            yield "pictures", str(error)
            return
        for file in files:
            if file.stat().st_size > MOST_BYTES:
                yield "pictures", f"{file} has more than {MOST_BYTES >> 20} MB"

    @property
    def path(self) -> Path:
        return self.folder.resolve() / self.pictures

    @cached_property
    def files(self) -> tuple[Path, ...]:
        path = self.path
        if not path.exists():
            raise UsageError(f"{path} does not exist; a picture or a folder of pictures was expected")
        files = [path] if path.is_file() else sorted(path.iterdir())
        files = [file for file in files if file.suffix.lower() in PICTURES and file.is_file()]
        if not files:
            raise UsageError(f"{path} contains no picture ({', '.join(PICTURES)})")
        if len(files) > MOST_PICTURES:
            raise UsageError(f"{path} contains {len(files):,} pictures; at most {MOST_PICTURES:,} are possible")
        return tuple(files)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pictures, in order: their names and places do not matter."""
        whole = hashlib.sha256()
        for file in self.files:
            whole.update(hashlib.sha256(file.read_bytes()).digest())
        return whole.hexdigest()


@dataclass(frozen=True, kw_only=True)
class BackgroundKind(Nested):
    """A background: a path, or a mapping."""

    record: type = BackgroundConfig
    short: str = "pictures"

    def read(self, section: Section, key: str) -> BackgroundConfig:
        if not self.has_form(section.raw(key)):
            raise self.refused(section, key)
        inner = section.section(key, short=self.short)
        return read_record(BackgroundConfig, inner, given={"folder": section.folder})

    def write(self, value: BackgroundConfig) -> dict[str, Any]:
        """The mapping, with a path that does not depend on the folder of the config."""
        return write_record(value) | {"pictures": str(value.path)}
