"""Worth of a dataset as a whole: where its draws are thin, which episodes repeat others, and the config of a fill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.coverage import Coverage, coverage
from twinloop.curate.fill_plan import ThinRegion, cell_variation, plan_fill, thin_regions
from twinloop.curate.novelty import Novelty, describe_motion, novelty_of
from twinloop.curate.verdict import ACCEPTED
from twinloop.errors import DatasetError, UsageError
from twinloop.run.config import RunConfig, config_from_text

from .layout import CONFIG
from .parquet import to_numpy
from .reader import Dataset

DRAW = "draw/"
MOTION = ("observation.state", "action")
MIN_ACCEPTED = 32
MIN_RATE = 0.1


@dataclass(frozen=True)
class DrawnEpisodes:
    """The attempts of one or more datasets of one config.

    Attributes:
        config: of the first dataset, without regions of a fill.
        points: varied column -> (n,) quantiles of the draws, from 0 to 1; empty for a run with several tasks.
        accepted: (n,) bool.
        values: varied column -> (n,) drawn values, NaN where a task does not draw it.
        tasks, task_names: (n,) instruction and task of each attempt.
        digests: of the datasets.
    """

    config: RunConfig
    points: dict[str, np.ndarray]
    accepted: np.ndarray
    values: dict[str, np.ndarray]
    tasks: np.ndarray
    task_names: np.ndarray
    digests: tuple[str, ...]


@dataclass(frozen=True)
class WorthReport:
    """Coverage of a dataset's accepted episodes.

    Attributes:
        drawn: coverage of the draws of accepted episodes.
        variation: coefficient of variation of accepted episodes over cells of pairs of columns; None without draws.
        thin: cells with too few accepted episodes, the emptiest first.
        instructions: instruction -> (accepted, attempts).
        novelty: distances between accepted episodes; None if it was not requested.
        attempts: (accepted,) attempt numbers, for the indices in `novelty`.
    """

    drawn: Coverage
    variation: float | None
    thin: tuple[ThinRegion, ...]
    instructions: dict[str, tuple[int, int]]
    novelty: Novelty | None
    attempts: np.ndarray


def drawn_episodes(paths: Sequence[Path]) -> DrawnEpisodes:
    """Read the draws of datasets of one config, for example of a run and of the runs that filled it.

    Raises:
        DatasetError: recorded data, which has no draws, or a dataset without its config.
        UsageError: datasets of different configs.
    """
    configs, parts, tables, digests = [], [], [], []
    for path in paths:
        dataset = Dataset.open(path)
        if dataset.header.source != "sim" or not (dataset.path / CONFIG).is_file():
            raise DatasetError(
                f"{path}: has no draws (source {dataset.header.source!r}); only a dataset that `generate` made can be "
                "filled"
            )
        config = config_from_text(dataset.config_text(), name=f"{path}/{CONFIG}", folder=Path.cwd())
        config = config.with_seed(dataset.header.run_seed)
        configs.append(_unfilled(config, configs[0] if configs else config))
        if configs[-1].digest != configs[0].digest:
            raise UsageError(
                f"{path} was made with another config than {paths[0]}; give a dataset and those that fill it"
            )
        table = dataset.attempts()
        tables.append(table)
        digests.append(dataset.digest())
        attempts = to_numpy(table["attempt"])
        if len(config.by_task) == 1 and len(attempts):
            one = next(iter(config.by_task.values())).sampler().unit_points(0, int(attempts.max()) + 1)
            parts.append({column: values[attempts] for column, values in one.items()})
    columns = sorted({name for table in tables for name in table.column_names if name.startswith(DRAW)})
    counts = [table.num_rows for table in tables]
    values = {
        name.removeprefix(DRAW): np.concatenate([
            np.array(table[name].to_pylist(), float) if name in table.column_names else np.full(count, np.nan)
            for table, count in zip(tables, counts, strict=True)
        ])
        for name in columns
    }  # fmt: skip

    def text(name: str) -> np.ndarray:
        return np.array([value for table in tables for value in table[name].to_pylist()], object)

    points = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]} if parts else {}
    accepted = text("verdict") == ACCEPTED
    return DrawnEpisodes(configs[0], points, accepted, values, text("task"), text("task_name"), tuple(digests))


def _unfilled(config: RunConfig, first: RunConfig) -> RunConfig:
    """The config without the keys that a fill changes: regions, and the shares of the same tasks."""
    scene = config.scene
    if set(scene.tasks) == set(first.scene.tasks):
        scene = replace(scene, tasks=first.scene.tasks)
    return replace(config, fill=None, scene=scene)


def filled_config(paths: Sequence[Path], *, episodes: int) -> RunConfig:
    """Return the config of a run that fills the thin regions of datasets, with a seed of its own.

    For a run with several tasks the shares of the tasks change; for one task, thin regions are drawn more often.

    Raises:
        UsageError: too few accepted episodes to find thin regions, or no region is thin.
    """
    drawn = drawn_episodes(paths)
    count = int(drawn.accepted.sum())
    names = ", ".join(map(str, paths))
    if count < MIN_ACCEPTED:
        raise UsageError(
            f"--fill {names}: {count} accepted episodes; {MIN_ACCEPTED} or more are needed to tell where it is thin"
        )
    config = drawn.config.with_seed(drawn.config.rollout.seed + len(paths))
    if len(config.by_task) > 1:
        shares = _shares(drawn, episodes)
        return replace(config, scene=replace(config.scene, tasks=shares))
    fill = plan_fill(drawn.points, drawn.accepted, episodes=episodes, of=drawn.digests)
    if fill is None:
        raise UsageError(f"--fill {names}: no region is thin; run `generate` with another --seed for more episodes")
    return replace(config, fill=fill)


def _shares(drawn: DrawnEpisodes, episodes: int) -> dict[str, float]:
    """Task -> share of attempts that brings the accepted episodes of all tasks to the shares of the config."""
    wanted = drawn.config.scene.tasks
    total = sum(wanted.values())
    rates, lacks = {}, {}
    after = int(drawn.accepted.sum()) + episodes * float(drawn.accepted.mean())
    for name, share in wanted.items():
        of_task = drawn.task_names == name
        accepted = int(drawn.accepted[of_task].sum())
        rates[name] = max((accepted + 1) / (int(of_task.sum()) + 2), MIN_RATE)
        lacks[name] = max(after * share / total - accepted, 0.0) / rates[name]
    needed = sum(lacks.values()) or 1.0
    # A task that lacks nothing keeps a small share, because a config has no tasks with a share of 0.
    return {name: round(max(lack / needed, 0.01), 4) for name, lack in lacks.items()}


def worth_report(
    paths: Sequence[Path], *, motion: bool = True, on_progress: Callable[[int, int], None] = lambda *_: None
) -> WorthReport:
    """Measure coverage, thin regions and, with `motion`, duplicates and novelty of accepted episodes."""
    drawn = drawn_episodes(paths)
    covered = coverage({column: values[drawn.accepted] for column, values in drawn.values.items()})
    instructions = {
        str(task): (int(drawn.accepted[drawn.tasks == task].sum()), int((drawn.tasks == task).sum()))
        for task in sorted(set(drawn.tasks.tolist()))
    }
    novelty, attempts = None, np.zeros(0, int)
    if motion:
        described, attempts = _described(paths, on_progress)
        novelty = novelty_of(described)
    thin = tuple(thin_regions(drawn.points, drawn.accepted))
    variation = cell_variation(drawn.points, drawn.accepted)
    return WorthReport(covered, variation, thin, instructions, novelty, attempts)


def _described(paths: Sequence[Path], on_progress: Callable[[int, int], None]) -> tuple[list[np.ndarray], np.ndarray]:
    """Descriptions of the motion of all accepted episodes, and their attempt numbers."""
    datasets = [Dataset.open(path) for path in paths]
    total = sum(len(dataset.entries) for dataset in datasets)
    described, attempts, done = [], [], 0
    for dataset in datasets:
        for entry in dataset.entries:
            episodes = dataset.episodes(entry, ["attempt", "length", "verdict"])
            length = to_numpy(episodes["length"])
            accepted = np.array([verdict == ACCEPTED for verdict in episodes["verdict"].to_pylist()], bool)
            table = dataset.frames(entry, MOTION)
            parts = [to_numpy(table[name]) for name in MOTION]
            frames = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
            starts = np.cumsum(length) - length
            for row in np.flatnonzero(accepted & (length > 0)):
                described.append(describe_motion(frames[starts[row] : starts[row] + length[row]]))
                attempts.append(int(to_numpy(episodes["attempt"])[row]))
            done += 1
            on_progress(done, total)
    return described, np.array(attempts, int)


def report_json(report: WorthReport, *, most: int = 20) -> dict[str, Any]:
    """The report as JSON; at most `most` thin regions and pairs of duplicates."""
    novelty, worst = report.novelty, report.drawn.worst_pair
    return {
        "columns": list(report.drawn.columns),
        "unevenness": report.drawn.unevenness,
        "cell_variation": report.variation,
        "worst_pair": None
        if worst is None
        else {"columns": [worst.first, worst.second], "filled": worst.filled, "expected": report.drawn.expected_filled},
        "thin": [
            {
                "quantiles": {column: list(ends) for column, ends in region.quantiles.items()},
                "attempts": region.attempts,
                "accepted": region.accepted,
                "expected": round(region.expected, 2),
            }
            for region in report.thin[:most]
        ],
        "thin_regions": len(report.thin),
        "instructions": {task: list(counts) for task, counts in report.instructions.items()},
        "duplicates": None if novelty is None else _pairs(report, novelty.duplicates, most),
        "near_duplicates": None if novelty is None else _pairs(report, novelty.near_duplicates, most),
        "redundant": None if novelty is None else int(novelty.redundant.sum()),
        "median_distance": None if novelty is None else float(np.median(novelty.distance)),
        "most_novel": None
        if novelty is None
        else [int(report.attempts[row]) for row in np.argsort(-novelty.distance)[:most]],
    }


def _pairs(report: WorthReport, pairs: Sequence[tuple[int, int]], most: int) -> list[list[int]]:
    return [[int(report.attempts[first]), int(report.attempts[second])] for first, second in pairs[:most]]
