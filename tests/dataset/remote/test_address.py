"""Which paths are addresses and which are folders."""

from pathlib import Path

import pytest

from twinloop.dataset.remote.address import Remote, place
from twinloop.errors import UsageError


def test_folders_are_folders():
    assert place("datasets/cell") == Path("datasets/cell")
    assert place(Path("a")) == Path("a")
    assert place("file:///data/cell") == Path("/data/cell")


def test_an_address_has_a_bucket_a_prefix_and_a_name():
    remote = place("s3://bucket/runs/cell/")
    assert isinstance(remote, Remote)
    assert remote.url == "s3://bucket/runs/cell"
    assert (remote.bucket, remote.prefix, remote.name) == ("bucket", "runs/cell", "cell")
    assert place(remote) is remote


def test_unknown_protocols_are_refused():
    with pytest.raises(UsageError, match="s3://"):
        place("gopher://host/cell")


@pytest.mark.parametrize("text", ["memory://cell/x", "sftp://host/data/x"])
def test_a_store_without_an_atomic_commit_is_read_only_by_default(text):
    remote = place(text)
    assert isinstance(remote, Remote)
    assert (remote.atomic, remote.single_writer) == (False, False)


@pytest.mark.parametrize("text", ["s3://b/x", "gs://b/x", "abfs://container/x", "az://container/x"])
def test_stores_that_create_an_object_once_are_known(text):
    remote = place(text)
    assert isinstance(remote, Remote)
    assert remote.atomic


@pytest.mark.parametrize("text", ["s3://bucket", "s3://", "s3://bucket/"])
def test_a_bucket_without_a_path_is_refused(text):
    with pytest.raises(UsageError, match="s3://bucket/run"):
        place(text)
