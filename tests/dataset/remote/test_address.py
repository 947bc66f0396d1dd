"""What is an address, and what is a folder."""

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


@pytest.mark.parametrize("text", ["http://host/cell", "memory://cell/x", "ftp://a/b"])
def test_stores_without_an_atomic_commit_are_refused(text):
    with pytest.raises(UsageError, match="s3://"):
        place(text)


@pytest.mark.parametrize("text", ["s3://bucket", "s3://", "s3://bucket/"])
def test_a_bucket_alone_is_no_dataset(text):
    with pytest.raises(UsageError, match="s3://bucket/run"):
        place(text)
