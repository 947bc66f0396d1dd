"""What a loop is asked for, and that a folder holds one loop."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from twinloop.durable import read_bounded
from twinloop.errors import UsageError, nearest
from twinloop.pipeline.loop.record import MOST_BYTES, write_json
from twinloop.run.config import RunConfig
from twinloop.twin.objects import OBJECTS

Strategy = Literal["diagnose", "adr", "wide", "blind", "real"]
"""diagnose: ranges and demonstrations by what each diagnosis finds. adr: ranges by automatic domain randomization.
wide: the config's ranges as they are and no real data. blind: those and real data, undiagnosed. real: real data alone.
"""
COLLECTING = ("diagnose", "adr", "blind", "real")
FREE = ("rounds", "workers")
"""What may be another when the same loop goes on."""


@dataclass(frozen=True)
class LoopConfig:
    """rounds: after the first, which has no real data. target: success on the robot that is enough. budget: real
    demonstrations in all. trials: episodes on the robot in each round. objects: kinds of things that lie there; the
    config's own by default. episodes: simulated in a round, of all kinds together. steps: of the first training;
    tuning: of fine-tuning in the rounds after it. settings: of the policy. gated: what the gate holds back does not act
    on the robot. judged: episodes in the twin, of each kind. worlds, imagined: counterfactual cells for each gap, and
    episodes in each."""

    robot: str
    strategy: Strategy = "diagnose"
    rounds: int = 3
    target: float = 0.9
    budget: int = 200
    trials: int = 40
    objects: tuple[str, ...] = ()
    episodes: int = 2000
    steps: int = 3000
    tuning: int = 1500
    policy: str = "mlp"
    inputs: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    demonstrator: Literal["human-like", "script"] = "human-like"
    gated: bool = True
    judged: int = 200
    worlds: int = 24
    imagined: int = 16
    seed: int = 1
    workers: int = 2

    def __post_init__(self) -> None:
        for name in self.objects:
            if name not in OBJECTS:
                raise UsageError(f"--objects: {name!r} is no object; {nearest(name, OBJECTS)}")
        if len(set(self.objects)) < len(self.objects):
            raise UsageError(f"--objects: {', '.join(self.objects)} names one twice")


def refuse_another(out: Path, config: RunConfig, settings: LoopConfig) -> None:
    """A folder holds one loop: another config or other settings would mix their rounds."""
    told = {"config_digest": config.digest, **asdict(settings)}
    for free in FREE:
        told.pop(free)
    file = out / "settings.json"
    if not file.exists():
        write_json(file, told)
        return
    before = json.loads(read_bounded(file, MOST_BYTES))
    now = json.loads(json.dumps(told, default=str))
    changed = [f"{key}: {before.get(key)!r} there, {now[key]!r} given" for key in now if before.get(key) != now[key]]
    if changed:
        raise UsageError(f"{out}: holds another loop ({'; '.join(changed[:3])}); choose another --out")
