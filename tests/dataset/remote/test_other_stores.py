"""Stores without atomic creation: any run reads them, and one run writes with --single-writer.

fsspec's own `memory://`, which is in this process alone and so has nothing to start.
"""

import json
import secrets
import shutil
from pathlib import Path

import pytest

from tests.dataset.synthetic import CONFIG_TEXT, draft, header, run
from twinloop.cli import main
from twinloop.dataset import Dataset, verify
from twinloop.dataset.remote import objects
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.fetch import fetch
from twinloop.dataset.remote.layout import identity
from twinloop.dataset.remote.objects import Objects
from twinloop.dataset.remote.writer import RemoteWriter
from twinloop.errors import LockedError, StorageError, UsageError

pytest.importorskip("fsspec", reason="needs twinloop[s3]")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "cache"))
    return Remote(f"memory://{secrets.token_hex(4)}/demo", single_writer=True)


def put(remote: Remote, *, stop_after: int | None = None) -> str:
    with RemoteWriter.open(remote, header(), CONFIG_TEXT) as writer:
        for first, stop in writer.missing()[:stop_after]:
            writer.commit(draft(writer.scratch(f"{first}"), first, stop, writer.header))
        return writer.finish()


def test_writing_needs_single_writer(remote: Remote):
    with pytest.raises(UsageError, match=r"--single-writer.*s3://"):
        put(Remote(remote.url))
    assert not Objects(remote).sizes("")


def test_the_digest_is_that_of_a_folder_also_in_two_goes(remote: Remote, tmp_path: Path):
    digest = run(tmp_path / "here", header())
    put(remote, stop_after=1)
    assert put(remote) == digest
    report = verify(Remote(remote.url)).require()
    assert (report.digest, report.complete, report.shards) == (digest, True, 3)
    assert Dataset.open(remote.url).attempts().equals(Dataset.open(tmp_path / "here").attempts())
    assert fetch(remote, tmp_path / "there") == digest


def test_files_left_by_a_kill_are_not_entries(remote: Remote, monkeypatch: pytest.MonkeyPatch):
    """Killed between writing and renaming."""
    whole, objects = put(remote), Objects(remote)
    key = min(objects.sizes(f"manifest/{identity(header())}"))
    entry = objects.read(key)
    assert entry is not None
    objects.delete([key])

    def killed(*_: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(objects._fs), "mv", killed)
        with pytest.raises(KeyboardInterrupt):
            objects.create(key, entry)
    assert objects.read(key) is None
    assert put(remote) == whole
    verify(remote).require()


def test_a_second_run_is_refused_while_the_first_is_there(remote: Remote):
    with (
        RemoteWriter.open(remote, header(), CONFIG_TEXT),
        pytest.raises(LockedError, match="is being written by pid"),
    ):
        put(remote)


def test_workers_that_publish_to_another_store_are_detected(remote: Remote):
    """A store in the memory of one process is not visible to other processes."""
    with RemoteWriter.open(remote, header(), CONFIG_TEXT) as writer:
        for first, stop in writer.missing():
            made = draft(writer.scratch(f"{first}"), first, stop, writer.header)
            made.folder.rename(writer.scratch("gone"))
            writer.commit(made)
            shutil.rmtree(writer.scratch("gone"))
        with pytest.raises(StorageError, match="use the same store"):
            writer.finish()


def test_a_store_without_the_needed_operations_is_refused():
    with pytest.raises(StorageError, match=r"data://host/run/dataset\.json"):
        put(Remote("data://host/run", single_writer=True))


def test_the_command_accepts_single_writer(remote: Remote, capsys: pytest.CaptureFixture[str]):
    words = ["generate", "--episodes", "4", "--workers", "1", "--json", "--out", remote.url]
    assert main(words) == 2
    assert "--single-writer" in json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert main([*words, "--single-writer"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verify(remote).require().digest == output["digest"]


class FolderLockedError(Exception):
    status_code = 423


@pytest.mark.parametrize("in_cause", [False, True])
def test_an_operation_waits_while_another_worker_has_locked_the_folder(in_cause: bool, monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []
    monkeypatch.setattr(objects.time, "sleep", waited.append)
    answers = iter([FolderLockedError(), FolderLockedError(), None])

    def move(source: str, target: str) -> None:
        error = next(answers)
        if error is not None and in_cause:
            raise OSError(f"{source} or {target} is locked") from error
        if error is not None:
            raise error

    objects._once_unlocked(move, "part", "shard")
    assert len(waited) == 2
    assert next(answers, "used up") == "used up"


def test_other_errors_of_a_store_are_not_tried_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(objects.time, "sleep", lambda _: pytest.fail("waited"))

    def refuse() -> None:
        raise PermissionError("no")

    with pytest.raises(PermissionError):
        objects._once_unlocked(refuse)
