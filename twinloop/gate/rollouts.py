"""The work of one worker of an evaluation: ranges of episodes in, their outcomes out.

A pure function of (config, run seed, checkpoint, range), as `produce` is of the first three.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.curate.judge import judge
from twinloop.gate.outcomes import Outcomes
from twinloop.learn.actor import PolicyActor
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.runtime import PolicyRuntime
from twinloop.observe.live_cameras import LiveCameras
from twinloop.observe.live_sensors import LiveSensors
from twinloop.randomize.draw import Draws, EpisodeRange
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.engine import EngineConfig, make_engine
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class EvaluationJob:
    """The parts of an evaluation that a worker needs, as values that travel to other processes."""

    config_yaml: str
    folder: str
    load: Callable[[], PolicyRuntime]
    acting: ActingConfig
    width: int
    engine: EngineConfig = EngineConfig()  # noqa: RUF009


def try_out(trial: EvaluationJob, ranges: Iterator[EpisodeRange]) -> Iterator[tuple[EpisodeRange, Outcomes]]:
    config = config_from_text(trial.config_yaml, name="config.yaml", folder=Path(trial.folder))
    twin, runtime = twin_of(config), trial.load()
    sampler = config.sampler()
    blocks = (sampler.draw(first, stop) for first, stop in ranges)
    for episodes in acted(config, twin, runtime, trial.acting, blocks, width=trial.width, engine=trial.engine):
        attempts = episodes.draws.attempts
        yield (int(attempts[0]), int(attempts[-1]) + 1), outcomes_of(episodes, config, twin)


def acted(
    config: RunConfig,
    twin: Twin,
    runtime: PolicyRuntime,
    acting: ActingConfig,
    blocks: Iterable[Draws],
    *,
    width: int,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> Iterator[Episodes]:
    """Episodes in which the runtime moves the robot."""
    seed = config.rollout.seed
    watch = LiveSensors(twin, config.observe, width=width, seed=seed, features=runtime.space.sensed)
    pictures = tuple(feature.name for feature in runtime.space.pictures)
    eyes = LiveCameras(twin, config.cameras, pictures, width=width, seed=seed) if pictures else None
    actor = PolicyActor(twin, runtime, watch, acting, width=width, seed=seed, eyes=eyes)
    cell = Cell(twin, width=width, engine=make_engine(engine, twin.model, width=width))
    return rollout(cell, iter(blocks), actor, seed=seed)


def outcomes_of(episodes: Episodes, config: RunConfig, twin: Twin) -> Outcomes:
    verdicts = judge(episodes, twin, config.curate)
    phases = twin.task.phase_names
    return Outcomes(
        phases=phases,
        attempt=episodes.draws.attempts.astype(np.int64),
        success=episodes.success.copy(),
        # The last phase of all is to succeed.
        completed=np.where(episodes.success, len(phases), np.minimum(_last_phase(episodes), len(phases) - 1)),
        verdict=np.array(verdicts.reasons, object),
        failure=np.array(verdicts.failures, object),
        duration_s=episodes.lengths * twin.control_period_s,
        completion_s=_completion_s(episodes, twin),
        draws={column: episodes.draws.values[column] for column in episodes.draws.varied},
        checks={name: np.asarray(values, float) for name, values in verdicts.measures.items()},
    )


def _last_phase(episodes: Episodes) -> np.ndarray:
    """(n,) the phase of the last frame; 0 for an episode without one."""
    phase = np.append(episodes["phase"][:, 0], 0)
    ends = np.where(episodes.lengths > 0, episodes.starts + episodes.lengths - 1, len(phase) - 1)
    return np.nan_to_num(phase[ends]).astype(np.int64)


def _completion_s(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(n,) until the success that lasted to the end began; NaN without one."""
    achieved = episodes["success"][:, 0] > 0
    out = np.full(len(episodes.lengths), np.nan)
    # One episode at a time: each has its own length.
    for row in np.flatnonzero(episodes.success & (episodes.lengths > 0)):
        start, length = episodes.starts[row], episodes.lengths[row]
        without = np.flatnonzero(~achieved[start : start + length])
        # A frame's success is that of the state its command has led to, a period later.
        out[row] = (1 if not len(without) else without[-1] + 2) * twin.control_period_s
    return out
