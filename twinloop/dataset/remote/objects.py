"""Objects: read, write, create, list and delete objects below an address, with readable error messages.

Credentials and endpoint come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and
the other variables that the store's library reads), never from a config or an address.
"""

import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from twinloop.dataset.remote.address import ATOMIC, STORES, Remote
from twinloop.dataset.remote.layout import LEASES
from twinloop.errors import CorruptError, StorageError, TwinloopError, UsageError

CONNECT_S, READ_S = 10, 60
TAKEN, BEING_TAKEN = "PreconditionFailed", "ConditionalRequestConflict"
"""S3 error codes: the object exists; another request is creating it and may still fail."""
FAILS_ITSELF = ("InternalError", "ServiceUnavailable", "SlowDown")
"""S3 error codes for a failure of the store. Its library has already retried several times."""
TRIES = 6
LOCKED = 423


class Objects:
    """The objects below one address. Keys are relative to the address."""

    def __init__(self, remote: Remote):
        self.remote = remote
        self._fs = _filesystem(remote)

    def _path(self, key: str) -> str:
        return f"{self.remote.url}/{key}" if key else self.remote.url

    def read(self, key: str) -> bytes | None:
        """Return the content of the object, or None if it does not exist."""
        with self._explained(key):
            try:
                return self._fs.cat_file(self._path(key))
            except FileNotFoundError:
                return None

    def read_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Read several objects in parallel: key -> content."""
        paths = {self._fs._strip_protocol(self._path(key)): key for key in keys}
        if not paths:
            return {}
        with self._explained(next(iter(paths.values()))):
            contents = self._fs.cat(list(paths)) if len(paths) > 1 else {p: self._fs.cat_file(p) for p in paths}
        return {paths[path]: data for path, data in contents.items()}

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist. Return False if it exists with other content.

        An object with the same bytes counts as created by this call: if a response is lost, the store's library
        repeats the request and gets the answer that the object exists.
        """
        if not self.remote.atomic:
            return self._create_alone(key, data)
        with self._explained(key):
            for turn in range(TRIES):
                try:
                    self._fs.pipe_file(self._path(key), data, mode="create")
                    return True
                except OSError as error:
                    if isinstance(error, FileExistsError) or _code(error) == TAKEN:
                        return self.read(key) == data
                    if _code(error) != BEING_TAKEN or turn == TRIES - 1:
                        raise
                    time.sleep(0.1 * 2**turn)
        return False

    def _create_alone(self, key: str, data: bytes) -> bool:
        """Check, then write. This is safe only with a single writer."""
        with self._explained(key):
            if self._fs.exists(self._path(key)):
                return False
            self._move_in(key, data)
        return True

    def write(self, key: str, data: bytes) -> None:
        if self.remote.atomic:
            with self._explained(key):
                self._fs.pipe_file(self._path(key), data)
        elif key.startswith(LEASES) or self.read(key) != data:  # replacing leaves a short gap, harmless for leases
            self.delete([key])
            with self._explained(key):
                self._move_in(key, data)

    def _move_in(self, key: str, data: bytes) -> None:
        """Write to a temporary object and rename it, because some stores show partly written files."""
        part = self._path(f"{LEASES}/part-{secrets.token_hex(8)}")
        self._make_parent(part)
        self._make_parent(self._path(key))
        _once_unlocked(self._fs.pipe_file, part, data)
        _once_unlocked(self._fs.mv, part, self._path(key))

    def _make_parent(self, path: str) -> None:
        _once_unlocked(self._fs.makedirs, self._fs._parent(path), exist_ok=True)

    def upload(self, file: Path, key: str) -> None:
        with self._explained(key):
            if not self.remote.atomic:
                self._make_parent(self._path(key))
            _once_unlocked(self._fs.put_file, str(file), self._path(key))

    def download(self, key: str, file: Path) -> None:
        """Download the object to `file` atomically. Raises CorruptError if the object does not exist."""
        part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        with self._explained(key):
            try:
                self._fs.get_file(self._path(key), str(part))
                part.replace(file)
            except FileNotFoundError:
                raise CorruptError(f"{self._path(key)}: is missing, but the manifest lists it") from None
            finally:
                part.unlink(missing_ok=True)

    def sizes(self, below: str) -> Mapping[str, int]:
        """Return key -> size in bytes of every object below `below`, without caching."""
        self._fs.invalidate_cache()
        root = self._fs._strip_protocol(self.remote.url) + "/"
        with self._explained(below):
            try:
                listing = self._fs.find(self._path(below), detail=True)
            except FileNotFoundError:
                return {}
        # Some stores also list the prefix, as an empty object.
        return {path.removeprefix(root): int(info["size"]) for path, info in listing.items() if path.startswith(root)}

    def modified(self, key: str) -> datetime | None:
        """Return the time of the last write by the store's clock, or None if unknown."""
        self._fs.invalidate_cache()
        with self._explained(key):
            try:
                return self._fs.modified(self._path(key))
            except (FileNotFoundError, NotImplementedError):  # some stores keep no modification time
                return None

    def delete(self, keys: Iterable[str]) -> None:
        paths = [self._path(key) for key in keys]
        if paths:
            with self._explained(paths[0]):
                try:
                    _once_unlocked(self._fs.rm, paths)
                except FileNotFoundError:
                    return  # another process has deleted it

    def require(self) -> None:
        """Check that this run can commit to the store.

        Raises:
            StorageError: the bucket is missing or not writable, or the store overwrites existing objects.
            UsageError: the protocol has no atomic creation and `single_writer` is not set.
        """
        if not self.remote.atomic:
            if not self.remote.single_writer:
                raise UsageError(
                    f"{self.remote}: two runs could commit the same shard, because "
                    f"{self.remote.protocol}:// has no atomic "
                    f"creation. If only this run writes there, give --single-writer. Otherwise use {ATOMIC}, a mounted "
                    f"folder, or a local folder that you copy afterwards"
                )
            return
        self._fs.invalidate_cache()
        with self._explained(""):
            if not self._fs.exists(self.remote.bucket):
                raise FileNotFoundError
        probe = f"lock/probe-{secrets.token_hex(8)}"
        first, second = self.create(probe, b"1"), self.create(probe, b"2")
        self.delete([probe])
        if not first or second:
            raise StorageError(
                f"{self.remote}: the store of bucket {self.remote.bucket!r} ignores If-None-Match: * and overwrites "
                "existing objects, so commits are not atomic; use a store that supports it"
            )

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Convert errors of the store into StorageError with bucket, key, cause and advice."""
        try:
            yield
        except Exception as error:
            # The exception types of other stores' libraries are not known, so all are converted.
            if isinstance(error, TwinloopError) or (self.remote.atomic and not isinstance(error, _store_errors())):
                raise
            target = (
                f"{self._path(key)} (bucket {self.remote.bucket!r}, key {f'{self.remote.prefix}/{key}'.rstrip('/')!r})"
            )
            raise StorageError(f"{target}: {_in_plain_words(error, self.remote)}") from error


def _filesystem(remote: Remote) -> Any:
    package, family = STORES.get(remote.protocol, ("a package that fsspec needs", "other"))
    try:
        import fsspec

        if family == "other":
            return fsspec.url_to_fs(remote.url)[0]
        options: dict[str, Any] = {}
        if family == "s3":
            options["config_kwargs"] = {"connect_timeout": CONNECT_S, "read_timeout": READ_S}
        return fsspec.filesystem(remote.protocol, **options)
    except ImportError as error:
        extra = "twinloop[s3]" if family == "s3" else package
        advice = "install the package named there" if family == "other" else f"run: pip install '{extra}'"
        raise UsageError(f"{remote}: {package} is not installed ({error}); {advice}") from None
    except (TypeError, ValueError) as error:  # some stores need more options than an address
        name = f"FSSPEC_{remote.protocol.upper()}_..."
        raise UsageError(f"{remote}: {error}; set the missing options in the environment, as {name}") from None


def _store_errors() -> tuple[type[Exception], ...]:
    """Return the exception types of the store libraries that are imported."""
    types = (("botocore.exceptions", "BotoCoreError"), ("azure.core.exceptions", "AzureError"))
    return (OSError, *(getattr(sys.modules[module], name) for module, name in types if module in sys.modules))


def _once_unlocked(operation: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Call an operation of the store, again while another worker has locked the folder (HTTP 423 of WebDAV)."""
    for turn in range(TRIES):
        try:
            operation(*arguments, **options)
            return
        except Exception as error:  # stores have different exceptions
            codes = (getattr(one, "status_code", None) for one in (error, error.__cause__))
            if LOCKED not in codes or turn == TRIES - 1:
                raise
            time.sleep(0.1 * 2**turn)


def _code(error: BaseException) -> str:
    """Return the S3 error code, which fsspec keeps in the cause of the exception, or ""."""
    answer = getattr(error.__cause__, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, Mapping) else ""


def _in_plain_words(error: Exception, remote: Remote) -> str:
    detail = str(error) or type(error).__name__
    kind = type(error).__name__
    if isinstance(error, NotImplementedError):
        return f"fsspec does not support this operation with {remote.protocol}:// ({detail}); choose another store"
    if isinstance(error, FileNotFoundError):
        return f"there is no bucket {remote.bucket!r}; create it or choose another"
    if isinstance(error, PermissionError) or kind in ("NoCredentialsError", "PartialCredentialsError"):
        names = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" if remote.protocol.startswith("s3") else "the credentials"
        return f"access denied ({detail}); set {names} in the environment for an account that can read and write there"
    if kind in ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionError"):
        return (
            f"the store does not answer ({detail}); check the network and AWS_ENDPOINT_URL, then run the command again"
        )
    if _code(error) in FAILS_ITSELF:
        return (
            f"the store failed repeatedly ({detail}); it may be full or starting. Check it, then run the same "
            "command again. Committed data is not lost"
        )
    return f"{detail}; committed data is not lost, run the same command again to continue"
