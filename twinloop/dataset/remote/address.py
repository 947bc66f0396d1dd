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
"""Protocol -> (package, family), for stores that create an object atomically if it does not exist. For other protocols
fsspec checks first and writes afterwards, so two writers could create the same object."""

ATOMIC = ", ".join(f"{name}://" for name in STORES)

HERE = ("file", "local")


@dataclass(frozen=True)
class Remote:
    """The address of a dataset in an object store.

    Attributes:
        url: such as `s3://bucket/run`, without a trailing slash.
        single_writer: the user guarantees that no other run writes there. Stores without atomic creation are
            read-only otherwise.
    """

    url: str
    single_writer: bool = False

    @property
    def protocol(self) -> str:
        return self.url.partition("://")[0]

    @property
    def atomic(self) -> bool:
        """Whether the store guarantees that an object is created only once."""
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
    """Parse the location of a dataset: a folder, or an address in an object store."""
    if isinstance(text, Remote):
        return text
    protocol, is_url, rest = str(text).partition("://")
    if isinstance(text, Path) or not is_url:
        require_utf8(Path(text))
        return Path(text)
    if protocol in HERE:
        return Path(rest)
    if protocol not in STORES and protocol not in _known_to_fsspec():
        raise UsageError(f"{text}: fsspec has no store {protocol}://; recommended: {ATOMIC}")
    remote = Remote(text.rstrip("/"))
    if not remote.bucket or not remote.name:
        raise UsageError(f"{text}: a bucket and a path in it were expected, for example {protocol}://bucket/run")
    return remote


def _known_to_fsspec() -> list[str]:
    try:
        from fsspec import available_protocols
    except ImportError:
        return []
    return available_protocols()
