"""Verify a dataset in an object store: download and hash every object, one shard at a time."""

import tempfile
from pathlib import Path

from twinloop.dataset._verify import Problem, VerifyReport, shard_problems
from twinloop.dataset.layout import CONFIG, MANIFEST, SHARDS
from twinloop.dataset.reader import Dataset
from twinloop.errors import CorruptError

from .address import Remote
from .catalogue import read_entries, require_header
from .layout import file_key
from .objects import Objects


def verify_remote(remote: Remote) -> VerifyReport:
    """Return the problems of the dataset. Files without an entry are reported only if the dataset is complete."""
    objects = Objects(remote)
    header = require_header(objects)
    entries = read_entries(objects, header)
    dataset = Dataset(Path(remote.prefix), header, entries)
    problems, listed = [], set()
    if objects.read(CONFIG) is None:
        problems.append(Problem(CONFIG, "is missing"))
    plan = set(header.plan())
    for entry in entries:
        if (entry.first, entry.stop) not in plan:
            problems.append(Problem(MANIFEST, f"shard {entry.name} is not one of the {len(plan)} planned"))
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / SHARDS / entry.name
            folder.mkdir(parents=True)
            for name, file in entry.files.items():
                key = file_key(entry.name, name, file)
                listed.add(key)
                try:
                    objects.download(key, folder / name)
                except CorruptError:
                    continue  # `shard_problems` below reports the missing file
            problems += shard_problems(Dataset(Path(scratch), header, (entry,)))
    if dataset.complete:
        problems += [Problem(key, "is not in the manifest") for key in objects.sizes(SHARDS) if key not in listed]
    return VerifyReport(
        path=remote,
        digest=dataset.digest(),
        shards=len(entries),
        frames=dataset.frame_count,
        complete=dataset.complete,
        exported=False,
        problems=tuple(problems),
    )
