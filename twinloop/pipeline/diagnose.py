"""Diagnose: from runlogs to a GapReport. The order only; `twinloop.diagnose` has the computation."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from twinloop.dataset import Dataset
from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.case import case_of
from twinloop.diagnose.diagnosis import diagnose_traits, gap_report, simulate_explanation
from twinloop.diagnose.emulator import emulator_of
from twinloop.diagnose.hypothesis_set import Chunk
from twinloop.diagnose.make_bank import bank_key, make_bank
from twinloop.diagnose.report import GapReport
from twinloop.diagnose.traits import measure_traits
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.learn.candidate import Candidate
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig

MIN_WORK = 512  # episodes for which a worker process is worth its start


@dataclass(frozen=True)
class DiagnoseConfig:
    """Attributes:
    cells: sizes at which each cause is simulated.
    episodes: episodes in each cell.
    check_episodes: episodes for each simulation of the explanation; 0 leaves it out.
    """

    cells: int = 3
    episodes: int = 16
    check_episodes: int = 48
    seed: int = 2_000_003


def diagnose(
    runlogs: Sequence[Path],
    candidate: Candidate,
    config: RunConfig,
    *,
    config_name: str,
    cache: Path,
    settings: DiagnoseConfig = DiagnoseConfig(),  # noqa: B008
    workers: int | None = None,
    acting: ActingConfig = ActingConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> GapReport:
    """Estimate which gaps cost the policy success on the robot. `cache` is the folder of banks."""
    cells, episodes, seed = settings.cells, settings.episodes, settings.seed
    logs = [load_runlog(path) for path in runlogs]
    datasets = [Dataset.open(log.path) for log in logs]
    case = case_of(
        config, candidate, datasets, all_episodes(logs), config_name=config_name, acting=acting, episodes=episodes,
        seed=seed,
    )  # fmt: skip
    job = case.job

    def simulate(chunks: Sequence[Chunk]) -> Iterable[tuple[Chunk, list[CounterfactualCell]]]:
        needed = sum(len(chunk.numbers) for chunk in chunks) * episodes // MIN_WORK
        count = max(1, min(workers or executor.capacity(), len(chunks), needed))
        return executor.run(case.simulate, job, chunks, workers=count)

    size = {"levels": cells, "episodes": episodes, "seed": seed}
    how = asdict(acting) | ({"as_on_robot": True} if candidate.knows_real else {})
    key = bank_key(policy=candidate.digest, config=config, cameras=job.cameras, acting=how, **size)
    bank = make_bank(config, simulate, folder=cache / f"bank-{key}", on_progress=on_progress, **size)
    traits = measure_traits(case.traces, job.longest_s)
    diagnosis = diagnose_traits(
        traits, emulator_of(bank), seed=seed, robot=case.robot, arm_weight_n=case.arm_weight_n,
        tolerance=case.tolerance,
    )  # fmt: skip
    if settings.check_episodes:
        check = replace(job, episodes=settings.check_episodes, paired=False)
        diagnosis = simulate_explanation(diagnosis, lambda chunks: case.simulate(check, chunks), seed=seed)
    return gap_report(diagnosis, case.real, datasets, config, subject={
        "checkpoint": candidate.name, "checkpoint_digest": candidate.digest, "config": config_name,
        "config_digest": config.digest, "robot": case.robot,
        "runlogs": [{"path": str(log.path), "digest": log.digest} for log in logs],
        "cells": cells, "episodes": episodes, "seed": seed,
    })  # fmt: skip
