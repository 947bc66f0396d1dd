"""Reproduce: simulate any episode again from its config, run seed and index."""

from dataclasses import dataclass

from twinloop.curate.judge import judge
from twinloop.curate.verdict import Verdicts
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.engine import EngineConfig, make_engine
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Reproduced:
    """One episode, simulated and judged again."""

    twin: Twin
    episodes: Episodes
    verdicts: Verdicts


def reproduce(
    config: RunConfig,
    attempt: int,
    *,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> Reproduced:
    config = config.of_episode(attempt)
    twin, seed = twin_of(config), config.rollout.seed
    draws = config.sampler().draw(attempt, attempt + 1)
    expert = Expert(twin, config.expert, width=1, seed=seed)
    cell = Cell(twin, width=1, engine=make_engine(engine, twin.model, width=1))
    (episodes,) = rollout(
        cell, iter([draws]), expert, seed=seed, check_reach=True, dense_reward=config.observe.reward == "dense"
    )
    return Reproduced(twin, episodes, judge(episodes, twin, config.curate))
