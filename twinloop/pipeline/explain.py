"""Explain: what a config will do, before it does it."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.pipeline.generate import generate, width_of
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.randomization import written_row

PROBE_EPISODES = 32


@dataclass(frozen=True)
class Varied:
    """One randomized quantity, in words."""

    name: str
    distribution: Any
    unit: str
    gap: str
    touches: str


@dataclass(frozen=True)
class CostEstimate:
    """What a run should cost, from a probe of a few episodes on this machine."""

    seconds: float
    disk_bytes: int
    frames: int
    accepted_share: float


def varied(config: RunConfig) -> list[Varied]:
    rows = []
    for name, distribution in config.randomization.items():
        row = BY_NAME[name]
        rows.append(Varied(name, written_row(row, distribution), row.unit, row.gap, row.touches))
    return rows


def in_flight(config: RunConfig, workers: int | None = None) -> int:
    workers = workers or os.cpu_count() or 1
    return workers * width_of(config, workers)


def estimate(config: RunConfig, episodes: int, workers: int | None = None) -> CostEstimate:
    """Run a few episodes of this config into a folder that is thrown away, and extrapolate."""
    workers = workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="twinloop-probe-") as folder:
        out = Path(folder) / "probe"
        probe = generate(config, out, episodes=min(PROBE_EPISODES, episodes), workers=1)
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    share = episodes / probe.progress.attempted
    return CostEstimate(
        seconds=probe.progress.seconds * share / workers,
        disk_bytes=round(size * share),
        frames=round(probe.progress.frames * share),
        accepted_share=probe.progress.accepted / probe.progress.attempted,
    )
