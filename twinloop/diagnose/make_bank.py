"""The bank of a policy's counterfactuals: made in parts, each kept when it is done, and made no second time."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import numpy as np

from twinloop.dataset.versions import versions
from twinloop.diagnose import hypothesis as hypotheses
from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.counterfactuals import Chunk, CounterfactualJob, chunks_of, hypotheses_of, imagine
from twinloop.diagnose.hypothesis import NOTHING
from twinloop.diagnose.traits import TRAITS
from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.learn.candidate import Candidate
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig

MOST_BYTES = 1 << 26


def make_bank(
    candidate: Candidate,
    config: RunConfig,
    *,
    folder: Path,
    cameras: Sequence[str] = (),
    worlds: int,
    episodes: int,
    seed: int,
    workers: int | None = None,
    acting: ActingConfig = ActingConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Bank:
    """worlds: of each gap. episodes: of each world. folder: where parts are kept, by what they depend on.
    cameras: whose pictures are compared."""
    all_of_them = hypotheses_of(config, worlds=worlds, seed=seed)
    chunks = chunks_of(all_of_them)
    home = folder / f"bank-{_key(candidate, config, cameras, worlds, episodes, seed, acting)}"
    with storage_errors(home):
        home.mkdir(parents=True, exist_ok=True)
    found = {chunk[0]: part for chunk in chunks if (part := _kept(home, chunk)) is not None}
    done = sum(map(len, found.values()))
    on_progress(done, len(all_of_them))
    missing = [chunk for chunk in chunks if chunk[0] not in found]
    job = CounterfactualJob(config.to_yaml(), str(Path.cwd()), candidate.load, acting, episodes, seed, tuple(cameras))
    workers = max(1, min(workers or executor.capacity(), len(missing))) if missing else 1
    for chunk, part in executor.run(imagine, job, missing, workers=workers) if missing else ():
        _keep(home, chunk, part)
        found[chunk[0]] = part
        done += len(part)
        on_progress(done, len(all_of_them))
    every = [world for chunk in chunks for world in found[chunk[0]]]
    usual = [world.traits for world in every if world.hypothesis.gap is None]
    return Bank(
        CounterfactualCell(NOTHING, np.concatenate(usual)),
        tuple(each for each in every if each.hypothesis.gap is not None),
    )


def _key(
    candidate: Candidate,
    config: RunConfig,
    cameras: Sequence[str],
    worlds: int,
    episodes: int,
    seed: int,
    acting: ActingConfig,
) -> str:
    drawn_as = [hypotheses.BEYOND, hypotheses.SMALLEST, hypotheses.USED, hypotheses.SELDOM, hypotheses.VARYING]
    seen_as = [trait.name for trait in TRAITS]
    made_with = [candidate.digest, config.digest, versions((), films=False), worlds, episodes, seed, asdict(acting)]
    told = [*made_with, drawn_as, seen_as, *cameras]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _file(home: Path, chunk: Chunk) -> Path:
    return home / f"{chunk[0]:06d}.npy"


def _keep(home: Path, chunk: Chunk, worlds: list[CounterfactualCell]) -> None:
    buffer = BytesIO()
    np.save(buffer, np.stack([world.traits for world in worlds]), allow_pickle=False)
    with storage_errors(home):
        replace_file(_file(home, chunk), buffer.getvalue(), scratch=home)


def _kept(home: Path, chunk: Chunk) -> list[CounterfactualCell] | None:
    file = _file(home, chunk)
    if not file.exists():
        return None
    try:
        parts = np.load(BytesIO(read_bounded(file, MOST_BYTES)), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CorruptError(f"{file}: cannot be read ({error!s:.80}); delete it, and it is made again") from None
    if parts.ndim != 3 or len(parts) != len(chunk[1]) or parts.shape[2] != len(TRAITS):
        raise CorruptError(f"{file}: holds {parts.shape} numbers; delete it, and it is made again")
    return [CounterfactualCell(hypothesis, traits) for hypothesis, traits in zip(chunk[1], parts, strict=True)]
