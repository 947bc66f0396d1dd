"""A plan: the demonstrations to collect, with robot and conditions. It is a JSON file, usually written by a program:

[{"robot": "rehearsal:harsh", "episodes": 20, "conditions": {"object": "can"}}, ...]
"""

from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.config.compound import Listed
from twinloop.config.fields import integer, internal, mapped, text
from twinloop.config.json_file import load_json, value_from_json
from twinloop.config.kinds import Text
from twinloop.config.record import Nested
from twinloop.errors import UsageError

MAX_BYTES = 1 << 20
MAX_EPISODES = 1 << 20


@dataclass(frozen=True)
class CollectionRequest:
    """One line of a plan. first: number of its first episode; requests of one robot are numbered consecutively."""

    robot: str = text(filled=True, help="name of the robot, as in rehearsal:mild")
    episodes: int = integer(low=1, high=MAX_EPISODES, help="number of demonstrations")
    first: int = internal(0)
    conditions: dict[str, str] = mapped(
        Text(filled=True), what="condition", help="conditions to collect in, as in light: dim"
    )


PLAN = Listed(item=Nested(record=CollectionRequest), least=1, what="request", help="each has a robot and episodes")


def read_plan(path: Path) -> tuple[CollectionRequest, ...]:
    content = load_json(path, max_bytes=MAX_BYTES, what="a plan", error=UsageError)
    requests: list[CollectionRequest] = []
    for request in value_from_json(PLAN, content, where=str(path), error=UsageError):
        before = sum(earlier.episodes for earlier in requests if earlier.robot == request.robot)
        requests.append(replace(request, first=before))
    return tuple(requests)
