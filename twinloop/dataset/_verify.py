"""Verification: every committed file is unchanged, and there are no other files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from twinloop.curate.verdict import ACCEPTED
from twinloop.durable import FileDigest, digest_file, storage_errors
from twinloop.errors import CorruptError, DatasetError

from ._install import read_export_record
from .header import Header
from .layout import CONFIG, EXPORT, EXPORT_FOLDERS, HEADER, MANIFEST, SHARDS
from .manifest import Manifest, ShardEntry, read_manifest, shard_name
from .parquet import read_table, to_numpy
from .pictures import video_file
from .reader import Dataset
from .remote.address import Remote, place
from .shard import EPISODES, FRAMES
from .video import count_frames

LINK = "is a symbolic link; a dataset must contain its own files: copy the files to this place"


@dataclass(frozen=True)
class Problem:
    """One problem. file: relative to the dataset. what: description."""

    file: str
    description: str

    def __str__(self) -> str:
        return f"{self.file}: {self.description}"


@dataclass(frozen=True)
class VerifyReport:
    """Result of a verification. digest: of the listed shards. exported: the export matches this digest."""

    path: Path | Remote
    digest: str
    shards: int
    frames: int
    complete: bool
    exported: bool
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def require(self) -> "VerifyReport":
        """This report, or CorruptError with every problem."""
        if self.problems:
            advice = "run the command that made it again: damaged parts are dropped and generated again"
            advice += " (recordings of a robot must be restored from a copy)"
            lines = [f"  {problem}" for problem in self.problems]
            raise CorruptError("\n".join([f"{self.path}: is damaged; {advice}", *lines]))
        return self


def verify(path: Path | Remote | str) -> VerifyReport:
    """Recompute every digest of the dataset at `path`. Unfinished work in scratch/ is ignored."""
    path = place(path)
    if isinstance(path, Remote):
        from .remote.verify import verify_remote

        return verify_remote(path)
    if not (path / HEADER).is_file():
        Dataset.open(path)  # raises an error that says what the folder is
    with storage_errors(path):
        manifest = read_manifest(path / MANIFEST, damaged=True)
        dataset = Dataset(path, Header.read(path / HEADER), manifest.entries)
        problems = [*_manifest(dataset, manifest), *shard_problems(dataset), *_strays(dataset)]
        exported, wrong = _export(dataset)
    return VerifyReport(
        path=path,
        digest=dataset.digest(),
        shards=len(dataset.entries),
        frames=dataset.frame_count,
        complete=dataset.complete,
        exported=exported,
        problems=(*problems, *wrong),
    )


def _manifest(dataset: Dataset, manifest: Manifest) -> Iterator[Problem]:
    if manifest.torn:
        yield Problem(MANIFEST, "its last line was cut off by a kill; the next run drops it")
    yield from (Problem(MANIFEST, description) for description in manifest.damaged)
    config, expected = dataset.path / CONFIG, dataset.header.config_sha256
    if not config.is_file():
        yield Problem(CONFIG, "is missing")
    elif expected and digest_file(config).sha256 != expected:
        yield Problem(CONFIG, "does not have the committed content")
    plan = dict(dataset.header.plan())
    for entry in dataset.entries:
        # A stopped run that was being extended still has its short last shard; this is not damage.
        if entry.stop > plan.get(entry.first, -1):
            yield Problem(MANIFEST, f"shard {entry.name} is not one of the {len(plan)} planned")


def shard_problems(dataset: Dataset) -> Iterator[Problem]:
    if (dataset.path / SHARDS).is_symlink():
        yield Problem(SHARDS, LINK)
        return
    for entry in dataset.entries:
        if (dataset.path / SHARDS / entry.name).is_symlink():
            yield Problem(f"{SHARDS}/{entry.name}", LINK)
            continue
        wrong = [
            Problem(f"{SHARDS}/{entry.name}/{name}", description)
            for name, file in entry.files.items()
            if (description := _wrong(dataset.path / SHARDS / entry.name / name, file))
        ]
        yield from wrong
        if not wrong:  # a damaged file is reported once
            yield from _counts(dataset, entry)


def _wrong(path: Path, committed: FileDigest) -> str | None:
    if path.is_symlink():
        return LINK
    if not path.is_file():
        return "is missing"
    actual = digest_file(path)
    if actual.bytes != committed.bytes:
        return f"has {actual.bytes:,} bytes; {committed.bytes:,} were committed"
    if actual != committed:
        hashes = f"sha256 {actual.sha256[:12]}..., not {committed.sha256[:12]}..."
        return f"does not have the committed content ({hashes})"
    return None


def _counts(dataset: Dataset, entry: ShardEntry) -> Iterator[Problem]:
    """Compare the counts of the manifest line with the files."""
    folder = dataset.path / SHARDS / entry.name
    try:
        table = read_table(folder / EPISODES, ["attempt", "length", "verdict"])
        frames = pq.read_metadata(folder / FRAMES).num_rows
    except (CorruptError, KeyError) as error:
        yield Problem(f"{SHARDS}/{entry.name}", str(error))
        return
    lengths = to_numpy(table["length"])
    counts = {
        "frames": (frames, entry.frames),
        "frames, by episode": (int(lengths.sum()), entry.frames),
        "stored episodes": (int(np.count_nonzero(lengths)), entry.stored),
        "accepted episodes": (table["verdict"].to_pylist().count(ACCEPTED), entry.accepted),
        "attempts": (table.num_rows, entry.stop - entry.first),
    }
    for noun, (counted, listed) in counts.items():
        if counted != listed:
            yield Problem(f"{SHARDS}/{entry.name}", f"{counted} {noun}, but the manifest lists {listed}")
    yield from _videos(dataset, entry, frames)


def _videos(dataset: Dataset, entry: ShardEntry, rows: int) -> Iterator[Problem]:
    """Check that each video has one frame per row. A shard without rows has no videos."""
    for feature in dataset.header.pictures if rows else ():
        name = video_file(feature)
        file = f"{SHARDS}/{entry.name}/{name}"
        if name not in entry.files:
            yield Problem(file, "is not in the manifest, but the header has this image")
            continue
        try:
            frames = count_frames(dataset.path / file)
        except CorruptError as error:
            yield Problem(file, str(error))
        else:
            if frames != rows:
                yield Problem(file, f"has {frames} frames for {rows} rows")


def _strays(dataset: Dataset) -> Iterator[Problem]:
    listed = {f"{entry.name}/{name}" for entry in dataset.entries for name in entry.files}
    for stray in _files(dataset.path / SHARDS):
        if stray not in listed:
            yield Problem(f"{SHARDS}/{stray}", "is not in the manifest")
    committed = {entry.name for entry in dataset.entries}
    for name in (shard_name(*planned) for planned in dataset.header.plan()):
        if name not in committed and (dataset.path / SHARDS / name).is_dir():
            yield Problem(
                MANIFEST, f"has no line for shard {name}, but its folder exists; the next run generates it again"
            )


def _export(dataset: Dataset) -> tuple[bool, list[Problem]]:
    """(is the export up to date, problems of the export). A missing export is not a problem."""
    try:
        record = read_export_record(dataset.path)
    except DatasetError as error:
        return False, [Problem(EXPORT, str(error))]
    if record is None:
        return False, []
    paths = record.files.items()
    problems = [
        Problem(name, description) for name, file in paths if (description := _wrong(dataset.path / name, file))
    ]
    for folder in EXPORT_FOLDERS:
        names = (f"{folder}/{name}" for name in _files(dataset.path / folder))
        problems += [Problem(name, "is not part of the export") for name in names if name not in record.files]
    current = record.digest == dataset.digest()
    if not current and dataset.complete:
        problems.append(Problem(EXPORT, "the export was made from other shards; the next run writes it again"))
    return current and not problems, problems


def _files(folder: Path) -> list[str]:
    paths = (Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    return sorted(str(path.relative_to(folder)) for path in paths)
