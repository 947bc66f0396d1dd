"""Remote: the address of a dataset in an object store."""

from dataclasses import dataclass
from pathlib import Path

from twinloop.errors import UsageError

STORES = {
    "s3": ("s3fs", "s3"),
    "s3a": ("s3fs", "s3"),
    "gs": ("gcsfs", "gs"),
    "gcs": ("gcsfs", "gs"),
}
"""Protocols whose fsspec creates an object only if there is none, in one step: the package, and the family. fsspec has
many more, but looks first and writes then, and two writers would both find nothing."""

HERE = ("file", "local")


@dataclass(frozen=True)
class Remote:
    """url: without a slash at its end, as `s3://bucket/run`."""

    url: str

    @property
    def protocol(self) -> str:
        return self.url.partition("://")[0]

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
        return Path(text)
    if protocol in HERE:
        return Path(rest)
    if protocol not in STORES:
        valid = ", ".join(f"{name}://" for name in STORES)
        raise UsageError(f"{text}: no store of the kind {protocol}:// in which a commit is atomic; valid are {valid}")
    remote = Remote(text.rstrip("/"))
    if not remote.bucket or not remote.name:
        raise UsageError(f"{text}: a bucket and a path below it were expected, as in {protocol}://bucket/run")
    return remote
