"""Remote: the address of a dataset in an object store."""

from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import require_utf8
from twinloop.errors import UsageError

STORES = {
    "s3": ("s3fs", "s3"),
    "s3a": ("s3fs", "s3"),
    "gs": ("gcsfs", "gs"),
    "gcs": ("gcsfs", "gs"),
    "abfs": ("adlfs", "abfs"),
    "abfss": ("adlfs", "abfs"),
    "az": ("adlfs", "abfs"),
}
"""Protocols whose fsspec creates an object only if there is none, in one step: the package, and the family. fsspec has
many more, but looks first and writes then, and two writers would both find nothing."""

ATOMIC = ", ".join(f"{name}://" for name in STORES)

HERE = ("file", "local")


@dataclass(frozen=True)
class Remote:
    """url: without a slash at its end, as `s3://bucket/run`. single_writer: somebody sees to it that no second run
    writes there; without that, a store where looking and writing are two steps is only read."""

    url: str
    single_writer: bool = False

    @property
    def protocol(self) -> str:
        return self.url.partition("://")[0]

    @property
    def atomic(self) -> bool:
        """Whether the store itself sees to it that an object is created once."""
        return self.protocol in STORES

    @property
    def bucket(self) -> str:
        return self.url.partition("://")[2].partition("/")[0]

    @property
    def prefix(self) -> str:
        """The path below the bucket."""
        return self.url.partition("://")[2].partition("/")[2]

    @property
    def name(self) -> str:
        return self.prefix.rpartition("/")[2]

    def __str__(self) -> str:
        return self.url


def place(text: str | Path | Remote) -> Path | Remote:
    """Where a dataset is: a folder, or an address in an object store."""
    if isinstance(text, Remote):
        return text
    protocol, is_url, rest = str(text).partition("://")
    if isinstance(text, Path) or not is_url:
        require_utf8(Path(text))
        return Path(text)
    if protocol in HERE:
        return Path(rest)
    if protocol not in STORES and protocol not in _known_to_fsspec():
        raise UsageError(f"{text}: fsspec knows no store of the kind {protocol}://; those made for this are {ATOMIC}")
    remote = Remote(text.rstrip("/"))
    if not remote.bucket or not remote.name:
        raise UsageError(f"{text}: a bucket and a path below it were expected, as in {protocol}://bucket/run")
    return remote


def _known_to_fsspec() -> list[str]:
    try:
        from fsspec import available_protocols
    except ImportError:
        return []
    return available_protocols()
