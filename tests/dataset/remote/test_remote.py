"""A dataset in a real object store: same digest, one writer, nothing half-committed, errors in plain words."""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.dataset.synthetic import CONFIG_TEXT, draft, header, run
from tests.object_store import BUCKET, Store
from twinloop.dataset import Dataset, verify
from twinloop.dataset.header import Header
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.catalogue import read_entries
from twinloop.dataset.remote.fetch import fetch, mirror
from twinloop.dataset.remote.layout import LEASES, entry_key, file_key, identity
from twinloop.dataset.remote.lease import Holder, Lease
from twinloop.dataset.remote.objects import Objects
from twinloop.dataset.remote.publish import publish
from twinloop.dataset.remote.writer import RemoteWriter
from twinloop.errors import CorruptError, DatasetError, LockedError, StorageError


@pytest.fixture
def remote(object_store: Store) -> Remote:
    return Remote(object_store.address("demo"))


def put(remote: Remote, head: Header | None = None, *, stop_after: int | None = None) -> str:
    with RemoteWriter.open(remote, head or header(), CONFIG_TEXT) as writer:
        for first, stop in writer.missing()[:stop_after]:
            writer.commit(draft(writer.scratch(f"{first}"), first, stop, writer.header))
        return writer.finish()


def test_the_digest_is_that_of_a_folder(remote: Remote, tmp_path: Path):
    digest = run(tmp_path / "here", header())
    assert put(remote) == digest
    report = verify(remote).require()
    assert (report.digest, report.complete, report.shards) == (digest, True, 3)


def test_a_remote_dataset_equals_the_local_one(remote: Remote, tmp_path: Path):
    run(tmp_path / "here", header())
    put(remote)
    here, there = Dataset.open(tmp_path / "here"), Dataset.open(remote.url)
    assert there.attempts().equals(here.attempts())
    assert all(there.frames(entry).equals(here.frames(entry)) for entry in here.entries)
    assert there.config_text() == here.config_text()


def test_a_local_copy_contains_the_requested_files_and_is_updated(remote: Remote):
    put(remote, stop_after=1)
    folder = mirror(remote, only=["episodes.parquet"])
    assert [file.name for file in (folder / "shards").rglob("*.parquet")] == ["episodes.parquet"]
    assert not Dataset.open(folder).complete
    put(remote)
    assert Dataset.open(mirror(remote)).complete


def test_a_fetched_dataset_is_complete_and_exported(remote: Remote, tmp_path: Path):
    digest = put(remote)
    assert fetch(remote, tmp_path / "demo") == digest
    assert verify(tmp_path / "demo").require().exported


def test_a_run_resumes_and_may_grow(remote: Remote, tmp_path: Path):
    put(remote, stop_after=2)
    with RemoteWriter.open(remote, header(), CONFIG_TEXT) as writer:
        assert writer.missing() == [(8, 10)]
    put(remote)
    longer = header(episodes=16)
    assert put(remote, longer) == run(tmp_path / "longer", longer)  # the last shard, cut short at 10, is made again
    verify(remote).require()
    with pytest.raises(DatasetError, match="shrink"):
        RemoteWriter.open(remote, header(episodes=4), CONFIG_TEXT)
    with pytest.raises(DatasetError, match="run_seed: 7 in the folder, 8 in this run"):
        RemoteWriter.open(remote, header(run_seed=8), CONFIG_TEXT)


def test_uploads_without_an_entry_are_no_shard_and_go_away(remote: Remote):
    """A worker was killed between its files and its entry."""
    put(remote, stop_after=2)
    objects = Objects(remote)
    objects.write("shards/000000008-000000010/frames.0123456789abcdef.parquet", b"half of it")
    assert verify(remote).ok
    put(remote)
    assert "shards/000000008-000000010/frames.0123456789abcdef.parquet" not in objects.sizes("shards")
    verify(remote).require()


def test_a_shard_made_twice_is_committed_once(remote: Remote, tmp_path: Path):
    digest, whose = put(remote), identity(header())
    with ThreadPoolExecutor(4) as pool:
        again = [pool.submit(publish, remote, whose, draft(tmp_path / f"{n}", 0, 4, header())) for n in range(4)]
        assert [future.result() for future in again] == [None] * 4
    other = draft(tmp_path / "other", 0, 4, header(run_seed=8))
    with pytest.raises(CorruptError, match="with a different result"):
        publish(remote, whose, other)
    objects = Objects(remote)
    assert len(read_entries(objects, header())) == 3
    assert verify(remote).digest == digest


def test_damaged_shards_are_named_and_generated_again(remote: Remote):
    digest, objects = put(remote), Objects(remote)
    entry = read_entries(objects, header())[1]
    frames, episodes = (
        file_key(entry.name, name, entry.files[name]) for name in ("frames.parquet", "episodes.parquet")
    )
    objects.write(frames, b"x" * entry.files["frames.parquet"].bytes)
    objects.delete([episodes])
    report = {problem.file: problem.description for problem in verify(remote).problems}
    assert report.keys() == {f"shards/{entry.name}/frames.parquet", f"shards/{entry.name}/episodes.parquet"}
    with pytest.raises(CorruptError, match=r"episodes\.[0-9a-f]{16}\.parquet: is missing"):
        Dataset.open(remote.url)
    assert put(remote) == digest
    verify(remote).require()


@pytest.mark.parametrize("many", [2, 8])
def test_of_simultaneous_writers_one_wins_and_is_named_to_the_others(remote: Remote, many: int):
    together = threading.Barrier(many)

    def start(_: int) -> RemoteWriter | str:
        together.wait()
        try:
            return RemoteWriter.open(remote, header(), CONFIG_TEXT)
        except LockedError as error:
            return str(error)

    with ThreadPoolExecutor(many) as pool:
        results = list(pool.map(start, range(many)))
    winners = [result for result in results if isinstance(result, RemoteWriter)]
    assert len(winners) == 1
    losers = [result for result in results if isinstance(result, str)]
    assert all(f"pid {os.getpid()} on {os.uname().nodename}" in loss for loss in losers)
    winners[0].close()
    RemoteWriter.open(remote, header(), CONFIG_TEXT).close()


def test_the_lease_of_a_dead_process_is_free_at_once(remote: Remote):
    code = f"""
import os, signal
from tests.dataset.synthetic import CONFIG_TEXT, header
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.writer import RemoteWriter
RemoteWriter.open(Remote({remote.url!r}), header(), CONFIG_TEXT)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=120)
    assert done.returncode == -signal.SIGKILL
    put(remote)


def test_the_lease_of_another_machine_runs_out_and_its_holder_notices(remote: Remote):
    objects = Objects(remote)
    first = Lease(objects, lease_s=3)
    first.acquire()
    first._over.set()  # it is stopped
    (key,) = objects.sizes(LEASES)
    away = {**vars(Holder.this_process()), "host": "elsewhere", "boot": "another", "released": False}
    objects.write(key, json.dumps(away).encode())
    with pytest.raises(LockedError, match=r"on elsewhere .* expires in [1-3] s"):
        Lease(objects, lease_s=3).acquire()
    second = Lease(objects, lease_s=3)
    for _ in range(100):
        try:
            second.acquire()
            break
        except LockedError:
            threading.Event().wait(0.1)
    first._over.clear()
    first._lease_s = 0.1
    first._beat()
    with pytest.raises(LockedError, match=f"pid {os.getpid()}"):
        first.require()
    second.require()
    second.release()


def test_a_worker_of_another_dataset_cannot_add_to_this_one(remote: Remote, tmp_path: Path):
    digest = put(remote)
    stranger = identity(header(run_seed=8))
    publish(remote, stranger, draft(tmp_path / "x", 0, 4, header(run_seed=8)))
    assert Objects(remote).read(entry_key(stranger, "000000000-000000004")) is not None
    assert len(read_entries(Objects(remote), header())) == 3
    assert mirror(remote)
    assert Dataset.open(remote.url).digest() == digest


def test_an_address_that_holds_something_else_is_refused(remote: Remote):
    Objects(remote).write("notes.txt", b"mine")
    with pytest.raises(DatasetError, match=r"not a dataset and not empty \(it contains notes.txt\)"):
        put(remote)
    with pytest.raises(DatasetError, match=r"has no dataset.json"):
        Dataset.open(remote.url)


@pytest.mark.usefixtures("object_store")
def test_a_bucket_that_is_not_there_is_named():
    with pytest.raises(StorageError, match=r"bucket 'no-such-bucket', key 'a/b'.*create it"):
        put(Remote("s3://no-such-bucket/a/b"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "does not answer"),
    ],
)
def test_a_store_that_refuses_or_is_away_is_explained(object_store: Store, changed: dict[str, str], message: str):
    command = [sys.executable, "-m", "twinloop", "info", object_store.address("x")]
    environment = {**os.environ, "AWS_MAX_ATTEMPTS": "1", **changed}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 1
    assert message in done.stderr
    assert f"bucket '{BUCKET}'" in done.stderr
    assert "Traceback" not in done.stderr
