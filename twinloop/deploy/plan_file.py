"""A plan: the demonstrations to collect, with robot and conditions. It is a JSON file, usually written by a program:

[{"robot": "rehearsal:harsh", "episodes": 20, "conditions": {"object": "can"}}, ...]
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinloop.durable import read_bounded
from twinloop.errors import UsageError, nearest

MAX_BYTES = 1 << 20
MAX_EPISODES = 1 << 20
KEYS = ("robot", "episodes", "conditions")


@dataclass(frozen=True)
class CollectionRequest:
    """One line of a plan. first: number of its first episode; requests of one robot are numbered consecutively."""

    robot: str
    episodes: int
    first: int
    conditions: Mapping[str, str] = field(default_factory=dict)


def read_plan(path: Path) -> tuple[CollectionRequest, ...]:
    try:
        content = json.loads(read_bounded(path, MAX_BYTES, error=UsageError))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON ({error}); a plan is a list of {', '.join(KEYS)}") from None
    if not isinstance(content, list) or not content:
        raise UsageError(f"{path}: holds no list of errands; each has {', '.join(KEYS)}")
    errands: list[CollectionRequest] = []
    for number, value in enumerate(content):
        errand = _errand(f"{path}: [{number}]", value)
        before = sum(each.episodes for each in errands if each.robot == errand.robot)
        errands.append(CollectionRequest(errand.robot, errand.episodes, before, errand.conditions))
    return tuple(errands)


def _errand(where: str, value: Any) -> CollectionRequest:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: is {value!r:.60}; a mapping with {', '.join(KEYS)} was expected")
    for key in value:
        if key not in KEYS:
            raise UsageError(f"{where}: {key!r} is not known; {nearest(str(key), KEYS)}")
    robot, episodes, conditions = value.get("robot"), value.get("episodes"), value.get("conditions", {})
    if not isinstance(robot, str) or not robot:
        raise UsageError(f"{where}.robot: is {robot!r:.60}; a robot's name was expected, as in rehearsal:mild")
    if not isinstance(episodes, int) or isinstance(episodes, bool) or not 1 <= episodes <= MAX_EPISODES:
        raise UsageError(f"{where}.episodes: is {episodes!r:.60}; a whole number from 1 was expected")
    if not isinstance(conditions, dict) or not all(isinstance(each, str) and each for each in conditions.values()):
        raise UsageError(f"{where}.conditions: is {conditions!r:.60}; names and words were expected, as in light: dim")
    return CollectionRequest(robot, episodes, 0, conditions)
