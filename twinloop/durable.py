"""Files that survive a kill: complete or absent, hashed while they are written, and synced to the disk."""

import ctypes
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from twinloop.errors import CorruptError, FullDiskError, StorageError, TwinloopError, UsageError

_BUFFER_BYTES = 1 << 20  # a Parquet file is written in pages of a few kilobytes
_COPIED_BYTES = 1 << 20
_HERE, _EXCHANGE = -100, 2  # values of AT_FDCWD and RENAME_EXCHANGE in the Linux kernel


@dataclass(frozen=True)
class FileDigest:
    """SHA-256 and size of a file."""

    sha256: str
    bytes: int


class DurableFile:
    """A new file that is hashed while it is written and synced to the disk when it is closed.

    It has the methods that PyArrow needs of a sink, so a Parquet file is hashed without reading it again.
    """

    def __init__(self, path: Path):
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        self._hash = hashlib.sha256()
        self._bytes = 0
        self._pending = bytearray()
        self.closed = False

    def write(self, data) -> int:
        view = memoryview(data).cast("B")
        if len(self._pending) + len(view) < _BUFFER_BYTES:
            self._pending += view
        else:
            self.flush()
            self._write_through(view)
        self._bytes += len(view)
        return len(view)

    def flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        self._write_through(memoryview(pending))

    def _write_through(self, view: memoryview) -> None:
        self._hash.update(view)
        while view:  # the kernel may write only a part, and at most 2 GiB at once
            view = view[os.write(self._fd, view) :]

    def tell(self) -> int:
        return self._bytes

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            try:
                self.flush()
                os.fsync(self._fd)
            finally:
                os.close(self._fd)

    def __enter__(self) -> "DurableFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def digest(self) -> FileDigest:
        return FileDigest(self._hash.hexdigest(), self._bytes)


class PatchedFile:
    """A new file whose writer seeks back, as an MP4 muxer must. It is hashed when it is complete.

    `seal` makes the file read-only. The export is a hard link to the same file, so a write to one would change both.
    """

    def __init__(self, path: Path):
        path.unlink(missing_ok=True)  # a killed attempt may have left a read-only file
        self._path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self.error: OSError | None = None  # kept here because the muxer drops the error

    def write(self, data) -> int:
        view = memoryview(data).cast("B")
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self.error = error
            raise
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._fd, offset, whence)

    def tell(self) -> int:
        return os.lseek(self._fd, 0, os.SEEK_CUR)

    def seal(self) -> FileDigest:
        os.fchmod(self._fd, stat.S_IMODE(os.fstat(self._fd).st_mode) & ~0o222)
        os.fsync(self._fd)
        self.close()
        return digest_file(self._path)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def write_file(path: Path, data) -> FileDigest:
    with DurableFile(path) as file:
        file.write(data)
    return file.digest


def copy_file(source: Path, target: Path, committed: FileDigest) -> None:
    """Make a read-only copy of a file that was committed with this digest.

    Raises:
        CorruptError: the file is missing or its content differs.
    """
    target.unlink(missing_ok=True)
    try:
        with source.open("rb") as original, DurableFile(target) as copy:
            while part := original.read(_COPIED_BYTES):
                copy.write(part)
    except FileNotFoundError:
        raise CorruptError(f"{source}: is missing, but the manifest lists it") from None
    if copy.digest != committed:
        raise CorruptError(f"{source}: does not have the committed content")
    target.chmod(stat.S_IMODE(target.stat().st_mode) & ~0o222)


def replace_file(path: Path, data: bytes, *, scratch: Path) -> FileDigest:
    """Replace `path` by a file with `data` atomically: readers see the old file or the new one, also after a kill."""
    new = scratch / f"{path.name}.new"
    digest = write_file(new, data)
    os.replace(new, path)
    sync_folder(path.parent)
    return digest


def exchange(one: Path, other: Path) -> None:
    """Swap two folders on one disk atomically. A reader finds both folders at any time.

    Raises:
        OSError: the file system or the kernel does not support the exchange.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # a C library from before 2018, or not on Linux
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a log. It is on the disk when this returns; after a disk error no part of it remains."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        before = os.fstat(fd).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        except OSError:
            # The process continues (for example after a full disk) and may append again, so remove the partial line.
            os.ftruncate(fd, before)
            raise
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """Sync the names in `folder` to the disk. Without this, a power failure may undo a rename."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_tree(folder: Path) -> None:
    for parent, _, _ in os.walk(folder):
        sync_folder(Path(parent))


def digest_file(path: Path) -> FileDigest:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return FileDigest(digest.hexdigest(), file.tell())


def require_utf8(path: Path) -> None:
    """Refuse a path whose bytes are not UTF-8: Parquet and video libraries cannot open it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="backslashreplace")
        raise UsageError(f"{name}: the name is not UTF-8; rename the file or folder") from None


def read_bounded(path: Path, most_bytes: int, *, error: type[TwinloopError] = CorruptError) -> bytes:
    """Return the content of an external file of at most `most_bytes` bytes.

    Raises:
        error: the path has a zero byte, the file is larger, or it is not a regular file (a pipe may have no end).
    """
    if "\0" in str(path):
        raise error(f"{str(path)!r}: is not a path: it contains a zero byte")
    # Without O_NONBLOCK, opening a pipe that has no writer would block.
    with storage_errors(path), os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{path}: is not a regular file; devices and pipes are not read")
        content = b"" if status.st_size > most_bytes else file.read(status.st_size + 1)
    size = max(status.st_size, len(content))  # the file may be growing
    if size > most_bytes:
        raise error(f"{path}: has {size:,} bytes; the maximum is {most_bytes:,}")
    return content


@contextmanager
def storage_errors(path: Path, *, needed_bytes: int | None = None) -> Iterator[None]:
    """Convert an OSError to FullDiskError or StorageError with a readable message."""
    try:
        yield
    except OSError as error:
        kind = FullDiskError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageError
        raise kind(_in_plain_words(error, path, needed_bytes)) from error


def _in_plain_words(error: OSError, path: Path, needed_bytes: int | None) -> str:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return f"{path}: permission denied; choose a folder that you can write to"
        case errno.EROFS:
            return f"{path}: the file system is read-only; choose a writable folder"
        case errno.ENOTDIR | errno.EEXIST:
            return f"{path}: is a file or inside a file; a folder was expected, choose another path"
        case errno.ENOSPC | errno.EDQUOT:
            full = "the disk is full" if error.errno == errno.ENOSPC else "the disk quota is exceeded"
            need = f", {needed_bytes:,} bytes are needed" if needed_bytes is not None else ""
            resume = "free some space and run the same command again: it continues where it stopped"
            return f"{path}: {full} ({_free_bytes(path)} bytes free{need}); {resume}"
        case _:
            return f"{path}: {error.strerror or error}"


def _free_bytes(path: Path) -> str:
    for place in (path, *path.parents):
        if place.exists():
            return f"{shutil.disk_usage(place).free:,}"
    return "unknown"
