"""The hypotheses of a diagnosis: which cells are simulated for a config, and how they are grouped for workers."""

from collections.abc import Sequence

from twinloop.diagnose.hypothesis import NOTHING, Hypothesis, drawn, rows_of
from twinloop.randomize.parameter import GAPS
from twinloop.run.config import RunConfig

Chunk = tuple[int, tuple[Hypothesis, ...]]
"""The number of the first hypothesis, and consecutive hypotheses that one worker simulates in one twin."""
MAX_CHUNK = 8


def scene_features(config: RunConfig) -> dict[str, bool]:
    """Features of a cell, as keyword arguments of `rows_of`."""
    return {
        "pictures": bool(config.cameras),
        "wrist": config.observe.wrist,
        "touch": config.observe.touch,
        "person": any(fixture.path is not None for fixture in config.scene.task.fixtures),
        "soft": config.scene.world.things[0].object.soft,
    }


def hypotheses_of(config: RunConfig, *, cells_per_gap: int, seed: int) -> list[Hypothesis]:
    """Return `cells_per_gap` hypotheses for each gap that this cell can show, after a third as many without any gap."""
    features = scene_features(config)
    hypotheses = [NOTHING] * max(1, cells_per_gap // 3)
    for gap in GAPS:
        rows = rows_of(gap, **features)
        hypotheses += [drawn(gap, rows, number, seed=seed) for number in range(cells_per_gap if rows else 0)]
    return hypotheses


def chunks_of(hypotheses: Sequence[Hypothesis]) -> list[Chunk]:
    """Group consecutive hypotheses that vary the same rows."""
    chunks: list[Chunk] = []
    for number, hypothesis in enumerate(hypotheses):
        first, group = chunks[-1] if chunks else (0, ())
        if group and len(group) < MAX_CHUNK and group[0].ranges.keys() == hypothesis.ranges.keys():
            chunks[-1] = first, (*group, hypothesis)
        else:
            chunks.append((number, (hypothesis,)))
    return chunks
