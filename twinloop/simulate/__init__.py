"""(Twin, Draws, actor) -> Episodes. Many episodes are simulated in one batch; the actor is an expert or a policy."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.simulate.actor import Actor as Actor
    from twinloop.simulate.actor import SlotActions as SlotActions
    from twinloop.simulate.cell import Cell as Cell
    from twinloop.simulate.engine import EngineConfig as EngineConfig
    from twinloop.simulate.episodes import Episodes as Episodes
    from twinloop.simulate.expert import Expert as Expert
    from twinloop.simulate.expert import ExpertConfig as ExpertConfig
    from twinloop.simulate.rollout import rollout as rollout

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Episodes": "episodes",
        "Actor": "actor",
        "SlotActions": "actor",
        "Cell": "cell",
        "Expert": "expert",
        "ExpertConfig": "expert",
        "EngineConfig": "engine",
        "rollout": "rollout",
    },
)
