"""Reproduce: any episode again, from its config, the run seed and its index."""

from dataclasses import dataclass

from twinloop.curate.judge import judge
from twinloop.curate.verdict import Verdicts
from twinloop.pipeline.config import RunConfig
from twinloop.pipeline.produce import twin_of
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Reproduced:
    """One episode, as it was simulated and judged."""

    twin: Twin
    episodes: Episodes
    verdicts: Verdicts


def reproduce(config: RunConfig, attempt: int) -> Reproduced:
    twin, seed = twin_of(config), config.rollout.seed
    draws = Sampler(config.randomization, seed=seed).draw(attempt, attempt + 1)
    expert = Expert(twin, config.expert, width=1, seed=seed)
    (episodes,) = rollout(Cell(twin, width=1), iter([draws]), expert, seed=seed)
    return Reproduced(twin, episodes, judge(episodes, twin, config.curate))
