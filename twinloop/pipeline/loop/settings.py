"""LoopConfig: the settings of a loop. A folder holds one loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import write_record
from twinloop.deploy.collect import Sees
from twinloop.deploy.demonstration_budget import refuse_schedule
from twinloop.errors import CorruptError, UsageError, nearest
from twinloop.pipeline.loop.record import MOST_BYTES, write_json
from twinloop.run.config import RunConfig
from twinloop.twin.objects import OBJECTS

Strategy = Literal["diagnose", "adr", "wide", "blind", "real"]
"""diagnose: each diagnosis decides ranges and demonstrations. adr: automatic domain randomization.
wide: the config's ranges, no real data. blind: the config's ranges and real data, no diagnosis. real: real data only.
"""
COLLECTING = ("diagnose", "adr", "blind", "real")
CHANGEABLE = ("rounds", "workers")
"""Settings that may change when a loop is continued."""
FORMER_KEYS = {
    "imagined": "cell_episodes",
    "judged": "evaluation_episodes",
    "tuning": "finetune_steps",
    "worlds": "cells",
}
"""Keys of `settings.json` in version 0.1 -> their names now."""


@dataclass(frozen=True)
class LoopConfig:
    """Settings of a loop.

    Attributes:
        rounds: after the first, which has no real data.
        target: success rate on the robot at which the loop stops.
        budget: real demonstrations over all rounds.
        schedule: real demonstrations that the policies of rounds 1, 2, ... learn from, in total. Without it, every
            round gets an equal part of the budget.
        trials: episodes on the robot per round.
        objects: object kinds in the scene; the config's own by default.
        episodes: simulated per round, over all object kinds.
        steps: of the first training. finetune_steps: steps in later rounds.
        longer_tuning: more steps after a round that missed the target in the twin too.
        settings: of the policy.
        demonstrator, demonstrator_sees: of the scripted demonstrator on a simulated robot, see `CollectConfig`.
        gated: policies reach the robot through the gate. Without it, only simulated robots are possible.
        simulated: the robot is a rehearsal, and no person needs to be asked.
        rules: file of the gate's rules; "" for the embedded ones.
        registry: folder of the registry; "" for one in the loop's folder.
        evaluation_episodes: evaluation episodes in the twin per object kind.
        cells: sizes at which a diagnosis simulates each possible error. cell_episodes: episodes in each cell.
    """

    robot: str
    strategy: Strategy = "diagnose"
    rounds: int = 3
    target: float = 0.9
    budget: int = 200
    schedule: tuple[int, ...] = ()
    trials: int = 40
    objects: tuple[str, ...] = ()
    episodes: int = 2000
    steps: int = 3000
    finetune_steps: int = 1500
    longer_tuning: bool = True
    policy: str = "mlp"
    inputs: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    demonstrator: Literal["human-like", "script"] = "human-like"
    demonstrator_sees: Sees = "readings"
    gated: bool = True
    simulated: bool = False
    rules: str = ""
    registry: str = ""
    evaluation_episodes: int = 200
    cells: int = 3
    cell_episodes: int = 16
    seed: int = 1
    workers: int = 2

    def __post_init__(self) -> None:
        for name in self.objects:
            if name not in OBJECTS:
                raise UsageError(f"--objects: unknown object {name!r}; {nearest(name, OBJECTS)}")
        if len(set(self.objects)) < len(self.objects):
            raise UsageError(f"--objects: {', '.join(self.objects)} names an object twice")
        refuse_schedule(self.schedule, self.rounds)

    def collections(self, number: int) -> int:
        """How often demonstrations were collected before the policy of round `number` was trained."""
        return number + (self.strategy == "real")


def refuse_another(out: Path, config: RunConfig, settings: LoopConfig) -> None:
    """Raise UsageError if the folder holds a loop of another config or other settings."""
    given = _fixed(config.digest, settings)
    file = out / "settings.json"
    if not file.exists():
        write_json(file, given)
        return
    what = "the settings of a loop"
    content = load_json(file, max_bytes=MOST_BYTES, what=what, error=CorruptError)
    if not isinstance(content, dict):
        raise CorruptError(f"{file}: holds a {type(content).__name__}; {what} were expected")
    content = {FORMER_KEYS.get(key, key): value for key, value in content.items()}
    digest = content.pop("config_digest", "")
    content["rounds"] = settings.rounds  # it is not stored, and a short schedule does not fit the default
    before = _fixed(digest, record_from_json(LoopConfig, content, where=str(file), error=CorruptError))
    changed = [f"{key}: was {before[key]!r}, you gave {given[key]!r}" for key in given if before[key] != given[key]]
    if changed:
        raise UsageError(f"{out}: was started with other settings ({'; '.join(changed[:3])}); choose another --out")


def _fixed(config_digest: str, settings: LoopConfig) -> dict[str, Any]:
    """The settings that stay the same when a loop is continued, as JSON."""
    content = {"config_digest": config_digest, **write_record(settings)}
    return {key: value for key, value in content.items() if key not in CHANGEABLE}
