"""Explain: what a config varies, and what a run of it costs, before it runs."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinloop.curate.hints import hint_for, most_frequent
from twinloop.dataset import describe
from twinloop.dataset.mobile import SHARD_EPISODES, mobile_cost
from twinloop.fleet.capacity import width_of
from twinloop.pipeline.generate import generate
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig
from twinloop.run.randomization import written_row

PROBE_EPISODES = 32


@dataclass(frozen=True)
class Varied:
    """One randomized row of the parameter table, for display."""

    name: str
    distribution: Any
    unit: str
    gap: str
    touches: str


@dataclass(frozen=True)
class CostEstimate:
    """Estimated cost of a run, from a probe of a few episodes on this machine.

    Attributes:
        rejected, failures: verdict or kind of failure -> episodes of the probe, most frequent first.
        hint: what to do about the most frequent one; "" where at least half of the episodes were accepted.
    """

    seconds: float
    disk_bytes: int
    frames: int
    accepted_share: float
    rejected: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    hint: str = ""


def varied(config: RunConfig) -> list[Varied]:
    rows = [(name, BY_NAME[name], distribution) for name, distribution in config.randomization.items()]
    return [Varied(name, written_row(row, values), row.unit, row.gap, row.touches) for name, row, values in rows]


def in_flight(config: RunConfig, workers: int | None = None) -> int:
    if isinstance(config, MobileConfig):
        return SHARD_EPISODES
    workers = workers or os.cpu_count() or 1
    return workers * width_of(config, workers)


def estimate(config: RunConfig, episodes: int, workers: int | None = None) -> CostEstimate:
    """Generate a few episodes into a temporary folder and extrapolate to `episodes`."""
    if isinstance(config, MobileConfig):
        return CostEstimate(**mobile_cost(config, episodes))
    workers = workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="twinloop-probe-") as folder:
        out = Path(folder) / "probe"
        probe = generate(config, out, episodes=min(PROBE_EPISODES, episodes), workers=1)
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        content = describe(out)
    share = episodes / probe.progress.attempted
    accepted = probe.progress.accepted / probe.progress.attempted
    rejected, failures = most_frequent(content["episodes"]["rejected"]), most_frequent(content["failures"])
    return CostEstimate(
        seconds=probe.progress.seconds * share / workers, disk_bytes=round(size * share),
        frames=round(probe.progress.frames * share), accepted_share=accepted, rejected=rejected, failures=failures,
        hint=hint_for(config.scene.robot, rejected, failures) if accepted < 0.5 else "",
    )  # fmt: skip
