"""The hypotheses of a bank: every cause alone at a few sizes, some causes together, and the unchanged twin."""

from collections.abc import Sequence
from dataclasses import dataclass

from twinloop.diagnose.causes import Cause, causes_of, hypothesis_of
from twinloop.diagnose.hypothesis import NOTHING, Hypothesis, rows_of
from twinloop.randomize.distribution import Constant, Distribution, Truncated
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS, Parameter
from twinloop.randomize.servo import SERVO
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig, inapplicable_rows
from twinloop.run.mobile import MobileConfig

MAX_EPISODES = 192
"""Most episodes of a chunk. A control period costs about as much Python time for one episode as for a hundred."""
MAX_SIMULATED = 3.0
"""Largest size of a cause in the bank."""
INERT = ("clutter", "item", "bystander", "distractors", "occluders")
"""Parts of a model that change nothing in an episode without them: bodies that stand below the floor."""
MOBILE_TOLERANCE = 0.1
"""Size up to which every row of a robot with legs or wheels may be wrong without being a finding."""
NEARLY_UNCHANGED = 10
"""Cells in which every row is wrong by up to `MOBILE_TOLERANCE`, for robots with legs or wheels."""
TOGETHER = 3  # causes in each cell that checks how effects add up


@dataclass(frozen=True)
class Chunk:
    """Hypotheses that one worker simulates together in one twin.

    Attributes:
        numbers: their places in the list of all hypotheses. Episodes and scenes are counted from them, so a cell does
            not depend on the chunk that it is in.
    """

    numbers: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]


def chunk_of(*hypotheses: Hypothesis) -> Chunk:
    """A chunk of its own for a few hypotheses."""
    return Chunk(tuple(range(len(hypotheses))), hypotheses)


def scene_features(config: RunConfig) -> dict[str, bool]:
    """Features of a cell, as keyword arguments of `rows_of`."""
    return {
        "pictures": bool(config.cameras),
        "wrist": config.observe.wrist,
        "touch": config.observe.touch,
        "person": any(fixture.path is not None for fixture in config.scene.task.fixtures),
        "soft": config.scene.world.things[0].object.soft,
    }


def causes_in(config: RunConfig) -> tuple[Cause, ...]:
    """Everything that can be wrong in the cell of a config."""
    if isinstance(config, MobileConfig):
        return mobile_causes(config)
    features, absent = scene_features(config), inapplicable_rows(config.scene.world)
    rows = [row for gap in GAPS for row in rows_of(gap, **features) if row.name not in absent]
    return causes_of(rows, laid_out={name: usual.support() for name, usual in usual_of(config).items()})


def mobile_causes(config: MobileConfig) -> tuple[Cause, ...]:
    """Everything that can be wrong with a robot with legs or wheels and its surroundings.

    A size of 1 is the end of the config's range of a row, where the config varies it. The layout of rooms and grounds
    is that of the config; rows of it that the config does not vary are no causes.
    """
    varied = config.randomization
    rows = [row for row in TABLE if config.morphology in row.robots and (not row.lays_out or row.name in varied)]
    ends = {
        row.name: varied[row.name].support() if row.name in varied else row.sensible_for(config.scene.robot)
        for row in rows
    }
    return causes_of(rows, laid_out={name: usual.support() for name, usual in usual_of(config).items()}, sensible=ends)


def usual_of(config: RunConfig) -> dict[str, Distribution]:
    """Distributions of the unchanged twin.

    Scenes are laid out as in the config. A row with a normal distribution, as an earlier diagnosis sets it, is fixed at
    its mean, and a row whose range excludes its nominal value at the middle of the range. All other rows are nominal.
    """
    usual: dict[str, Distribution] = {}
    for name, distribution in config.randomization.items():
        row = BY_NAME[name]
        if row.lays_out:
            usual[name] = distribution
            continue
        if isinstance(distribution, Truncated) and isinstance(distribution.mean, float):
            usual[name] = Constant(distribution.mean)
            continue
        low, high = distribution.support()
        if not low <= row.nominal <= high and row.chance is None and not row.words:
            usual[name] = Constant((low + high) / 2)
    return usual


def sizes_of(cause: Cause, levels: int) -> tuple[float, ...]:
    """The sizes at which a cause is simulated: geometric, the largest is `MAX_SIMULATED` or the end of the row."""
    most = min(MAX_SIMULATED, cause.max_size)
    return tuple(most * 0.5 ** (levels - 1 - level) for level in range(levels))


def hypotheses_of(config: RunConfig, *, levels: int, seed: int) -> list[Hypothesis]:
    """The hypotheses of a bank.

    Returns:
        Three times the unchanged twin, then each cause at `levels` sizes, then one cell of `TOGETHER` causes for every
        eighth cause. For robots with legs or wheels, `NEARLY_UNCHANGED` cells in which all rows are a little wrong.
    """
    causes = causes_in(config)
    hypotheses = [NOTHING] * 3
    hypotheses += [hypothesis_of([(cause, size)]) for cause in causes for size in sizes_of(cause, levels)]
    rng = episode_rng(seed, 0, stream="hypotheses")
    for _ in range(max(4, len(causes) // 8)):
        drawn = rng.choice(len(causes), size=min(TOGETHER, len(causes)), replace=False)
        places = {causes[place].row: place for place in drawn}.values()
        parts = [
            (causes[place], rng.uniform(0.3, 1.0) * min(MAX_SIMULATED, causes[place].max_size)) for place in places
        ]
        hypotheses.append(hypothesis_of(parts))
    if isinstance(config, MobileConfig):
        rng = episode_rng(seed, 0, stream="small errors")
        sides = [cause for cause in causes if cause.side in ("low", "high") and not cause.worse]
        for _ in range(NEARLY_UNCHANGED):
            # The last of the shuffled sides of a row stays.
            one_side = {(sides[place].row, sides[place].element): sides[place] for place in rng.permutation(len(sides))}
            parts = [(cause, float(rng.uniform(0, MOBILE_TOLERANCE))) for cause in one_side.values()]
            hypotheses.append(hypothesis_of(parts))
    return hypotheses


def chunks_of(hypotheses: Sequence[Hypothesis], *, episodes: int) -> list[Chunk]:
    """Group hypotheses that the same model can simulate, wherever they are in the list.

    Args:
        episodes: episodes of each hypothesis.
    """
    same_model: dict[frozenset[str], list[int]] = {}
    for number, hypothesis in enumerate(hypotheses):
        same_model.setdefault(_model_of(hypothesis), []).append(number)
    most = max(1, MAX_EPISODES // episodes)
    groups = [
        numbers[first : first + most] for numbers in same_model.values() for first in range(0, len(numbers), most)
    ]
    return [Chunk(tuple(group), tuple(hypotheses[number] for number in group)) for group in groups]


def is_built_in(row: Parameter) -> bool:
    """Whether the model has parts of its own for a row: bodies, sensors, delay lines, drives."""
    return bool(row.builds or row.delay_line_ms or row in SERVO)


def _model_of(hypothesis: Hypothesis) -> frozenset[str]:
    """The parts of the model that a hypothesis needs. Parts that change nothing at nominal values share a model."""
    rows = [BY_NAME[name] for name in hypothesis.ranges]
    parts = {part for row in rows for part in row.builds}
    inert = bool(parts.intersection(INERT)) or any(row.delay_line_ms for row in rows)
    drives = {row.name for row in rows if row in SERVO}
    return frozenset(parts.difference(INERT) | drives | ({"inert"} if inert else set()))
