"""Counterfactuals: the policy is rolled out in the twin with one gap open at a time, and the traits are measured."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.hypothesis import NOTHING, Hypothesis
from twinloop.diagnose.hypothesis_set import Chunk, chunk_of, is_built_in, usual_of
from twinloop.diagnose.snapshots import Photographer
from twinloop.diagnose.traits import TRAITS, Arm, EpisodeTrace, measure_traits
from twinloop.gate.rollouts import acted
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.runtime import PolicyRuntime
from twinloop.observe.features import observe
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

CONDITIONS = tuple((row.name, row.condition) for row in TABLE if row.condition is not None)
MAX_WIDTH = 192
FEW = 8  # episodes of the unchanged twin from which the time limit is found
LIMIT_SHARE, SHORTEST_LIMIT_S = 3.0, 8.0
DURATION = next(place for place, trait in enumerate(TRAITS) if trait.name == "duration")


@dataclass(frozen=True)
class CounterfactualJob:
    """The data that a worker needs to simulate counterfactual cells; all values can be pickled.

    Attributes:
        folder: the folder that relative paths of the config refer to.
        load: loads the policy.
        episodes: episodes in each cell.
        cameras: cameras to take images with.
        paired: all cells have the scenes of the first episodes, except those of the unchanged twin.
        longest_s: time limit of an episode; that of the task if None.
    """

    config_yaml: str
    folder: str
    load: Callable[[], PolicyRuntime]
    acting: ActingConfig
    episodes: int
    seed: int
    cameras: tuple[str, ...] = ()
    paired: bool = False
    longest_s: float | None = None

    @property
    def config(self) -> RunConfig:
        return config_from_text(self.config_yaml, name="config.yaml", folder=Path(self.folder))


def limited(job: CounterfactualJob) -> CounterfactualJob:
    """The job with a time limit: a multiple of the time that the policy needs in the unchanged twin.

    Episodes that fail last until the limit, and take most of the simulation of a bank.
    """
    few = replace(job, episodes=min(job.episodes, FEW))
    ((_, (cell,)),) = simulate_counterfactuals(few, [chunk_of(NOTHING)])
    durations_s = cell.traits[:, DURATION]
    done_s = durations_s[np.isfinite(durations_s)]
    return replace(job, longest_s=max(SHORTEST_LIMIT_S, LIMIT_SHARE * float(done_s.max()) if len(done_s) else 0.0))


def simulate_counterfactuals(
    job: CounterfactualJob, chunks: Iterable[Chunk]
) -> Iterator[tuple[Chunk, list[CounterfactualCell]]]:
    """Roll out the policy in the twin under every hypothesis and yield the traits of its episodes."""
    config, runtime = job.config, job.load()
    for chunk in chunks:
        yield chunk, _simulate(job, config, runtime, chunk)


def _simulate(
    job: CounterfactualJob, config: RunConfig, runtime: PolicyRuntime, chunk: Chunk
) -> list[CounterfactualCell]:
    hypotheses, count = chunk.hypotheses, job.episodes
    # Rows that the model or the drives have parts for are set in every episode, as in a run that varies them.
    rows, draws = shared_cells(job, config, chunk, set_in_all=_shared)
    config = replace(config, randomization=rows, rollout=replace(config.rollout, seed=job.seed))
    twin = twin_of(config)
    if job.longest_s is not None and job.longest_s < twin.task.longest_s:
        twin = replace(twin, task=replace(twin.task, longest_s=job.longest_s))
    blocks = [
        replace(scenes, attempts=np.arange(number * count, (number + 1) * count))
        for number, scenes in zip(chunk.numbers, draws, strict=True)
    ]
    arm, traits = Arm(twin), dict[int, np.ndarray]()
    photographer = Photographer(twin, config.cameras, job.cameras, seed=job.seed)
    for episodes in acted(config, twin, runtime, job.acting, blocks, width=min(MAX_WIDTH, count * len(blocks))):
        number = int(episodes.draws.attempts[0]) // count
        traits[number] = measure_traits(traces_of(episodes, config, twin, arm, photographer))
    return [
        CounterfactualCell(hypothesis, traits[number])
        for number, hypothesis in zip(chunk.numbers, hypotheses, strict=True)
    ]


def _shared(row: Parameter) -> bool:
    return is_built_in(row) or row.on_command is not None


def shared_cells(
    job: CounterfactualJob, config: RunConfig, chunk: Chunk, *, set_in_all: Callable[[Parameter], bool]
) -> tuple[dict[str, Distribution], list[Draws]]:
    """Several hypotheses in one twin.

    A twin of all of them is built for the largest value of each row, because delay lines must be long enough.

    Args:
        set_in_all: whether a row that some hypotheses change is set to its nominal value in the draws of the others.

    Returns:
        The randomization that the twin is built for, and the draws of each hypothesis.
    """
    names = dict.fromkeys(name for hypothesis in chunk.hypotheses for name in hypothesis.ranges)
    widest: dict[str, Distribution] = {name: Constant(_largest_value(name, chunk.hypotheses)) for name in names}
    usual = usual_of(config)
    nominal = {name: Constant(BY_NAME[name].nominal) for name in names if set_in_all(BY_NAME[name])} | usual
    draws = [
        scenes_of(config.sampler({**nominal, **hypothesis.ranges}, seed=job.seed), hypothesis, number, job)
        for number, hypothesis in zip(chunk.numbers, chunk.hypotheses, strict=True)
    ]
    return usual | widest, draws


def _largest_value(name: str, hypotheses: Sequence[Hypothesis]) -> float:
    ends = [hypothesis.ranges[name].support()[1] for hypothesis in hypotheses if name in hypothesis.ranges]
    ends += [value for item in hypotheses for column, value in item.elements.items() if column.startswith(f"{name}.")]
    return max(ends)


def scenes_of(sampler: Sampler, hypothesis: Hypothesis, number: int, job: CounterfactualJob) -> Draws:
    """The draws of one cell. Paired cells have the same scenes, so that a cause without effect changes no trait."""
    first = 0 if job.paired and hypothesis.sizes else number * job.episodes
    draws = sampler.draw(first, first + job.episodes)
    fixed = {column: np.full(job.episodes, value) for column, value in hypothesis.elements.items()}
    return replace(draws, values={**draws.values, **fixed})


def traces_of(
    episodes: Episodes, config: RunConfig, twin: Twin, arm: Arm, photographer: Photographer
) -> list[EpisodeTrace]:
    """Traces of simulated episodes, with the twin's sensor errors."""
    recording = observe(episodes, twin, config.observe, seed=config.rollout.seed)
    values = episodes.draws.values
    traces = []
    for row, (start, length) in enumerate(zip(recording.starts, recording.lengths, strict=True)):
        frames = {name: array[start : start + length] for name, array in recording.frames.items()}
        row_values = {name: float(array[row]) for name, array in values.items()}
        pictures = photographer.taken(episodes, row)
        traces.append(EpisodeTrace(frames, bool(episodes.success[row]), arm, _conditions(row_values, twin), pictures))
    return traces


def _conditions(drawn: Mapping[str, float], twin: Twin) -> dict[str, str]:
    """Conditions of a simulated episode, as a lab would have recorded them."""
    conditions = {"object": twin.object.name, "light": "normal", "human": "absent"}
    for name, condition in CONDITIONS:
        if word := condition.word(drawn[name]):
            conditions[condition.key] = word
    return conditions
