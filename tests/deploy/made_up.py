"""Description of a synthetic robot, and synthetic episodes on it."""

from dataclasses import replace

import numpy as np

from twinloop.deploy.description import description_of
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.robot import Briefing, Description
from twinloop.observe.recording import Feature
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

PHASES = tuple(phase.name for phase in PICK_AND_PLACE.phases)
CAMERA = Feature("observation.images.front", "video", (32, 48, 3))


def described(twin: Twin, *, id: str = "bench", cameras: tuple[Feature, ...] = ()) -> Description:
    about = description_of(twin, id=id, lockstep=True)
    return replace(about, observed=(*about.observed, *cameras))


def episode_log(about: Description, number: int, *, length: int = 12, **changes) -> EpisodeLog:
    rng = np.random.default_rng([5, number])
    frames = {}
    for feature in about.observed:
        if feature.is_picture:
            frames[feature.name] = rng.integers(0, 255, (length, *feature.shape), np.uint8)
        else:
            frames[feature.name] = rng.normal(0, 0.1, (length, *feature.shape)).astype(np.float32)
    wobble = rng.normal(0, 0.01, (length, len(about.home)))
    frames["action"] = frames["command"] = (np.array(about.home) + wobble).astype(np.float32)
    frames["phase"] = np.minimum(np.arange(length) // 2, len(PHASES) - 1)
    frames["timing"] = np.zeros((length, 4), np.float32)
    frames["by_human"] = np.zeros(length, bool)
    log = EpisodeLog(
        robot_id=about.id,
        briefing=Briefing("put it there", {"object": "cube", "light": "dim", "human": "absent"}),
        frames=frames,
        outcome="success",
        outcome_by="detector",
        recorded_at="2026-05-04T12:00:00+00:00",
        scene=number,
        last_phase=PHASES[-1],
        safety={"velocity": number},
        versions={"twinloop": "0.1.0"},
    )
    return replace(log, **changes)
