"""Counterfactuals of robots with legs or wheels: the policy is rolled out in twins with one gap open at a time.

All cells of a chunk are slots of one batch. Episode i of every cell has the commands, room, start and noise of episode
i of the unchanged twin, so that a cause without effect changes no trait.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.counterfactuals import CounterfactualJob, shared_cells
from twinloop.diagnose.hypothesis_set import Chunk
from twinloop.diagnose.traits import MobileModel, MobileTrace, measure_traits, mobile_model, mobile_trace
from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile_rollout import MobileEpisodes, mobile_rollout
from twinloop.gate.mobile_rollouts import policy_act
from twinloop.learn.runtime import PolicyRuntime
from twinloop.randomize.draw import Draws
from twinloop.run.mobile import MobileConfig


def simulate_mobile(
    job: CounterfactualJob, chunks: Iterable[Chunk]
) -> Iterator[tuple[Chunk, list[CounterfactualCell]]]:
    """Roll out the policy in the twin under every hypothesis and yield the traits of its episodes."""
    config, runtime = job.config, job.load()
    assert isinstance(config, MobileConfig)
    for chunk in chunks:
        yield chunk, _simulate(job, config, runtime, chunk)


def _simulate(
    job: CounterfactualJob, config: MobileConfig, runtime: PolicyRuntime, chunk: Chunk
) -> list[CounterfactualCell]:
    hypotheses, count = chunk.hypotheses, job.episodes
    changed, draws = changed_cells(job, config, chunk)
    robot = mobile_embodiment(changed, width=count * len(hypotheses), seed=job.seed)
    episodes = mobile_rollout(robot, policy_act(robot, runtime), 0, record=True, draws=draws)
    traces = traces_of(episodes, mobile_model(robot.twin))  # pyright: ignore[reportAttributeAccessIssue]
    return [
        CounterfactualCell(hypothesis, measure_traits(traces[place * count : (place + 1) * count]))
        for place, hypothesis in enumerate(hypotheses)
    ]


def changed_cells(job: CounterfactualJob, config: MobileConfig, chunk: Chunk) -> tuple[MobileConfig, Draws]:
    """The config of a twin that can simulate all hypotheses of a chunk, and the draws of their episodes in a row."""
    rows, draws = shared_cells(job, config, chunk, set_in_all=lambda _: True)
    return replace(config, randomization=rows), _together(draws)


def _together(parts: Sequence[Draws]) -> Draws:
    columns = parts[0].values
    return Draws(
        np.concatenate([part.attempts for part in parts]),
        {column: np.concatenate([part.values[column] for part in parts]) for column in columns},
        parts[0].varied,
    )


def traces_of(episodes: MobileEpisodes, model: MobileModel) -> list[MobileTrace]:
    """Traces of recorded episodes; those that were not simulated have no frames."""
    recording = episodes.recording
    assert recording is not None
    traces = []
    for row, (start, length) in enumerate(zip(recording.starts, recording.lengths, strict=True)):
        frames = {name: values[start : start + length] for name, values in recording.frames.items()}
        traces.append(mobile_trace(frames, success=bool(episodes.success[row]), robot=model))
    return traces
