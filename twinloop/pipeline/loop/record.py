"""Round: what became of one, and the whole of them. Records, and the files that hold them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError

MOST_BYTES = 1 << 22
SEVERAL = ("found", "errands")
NOBODY: Mapping[str, Any] = {"successes": 0, "trials": 0, "rate": None, "low": 0.0, "high": 1.0}
"""Of a policy that the gate held back: it was not on the robot."""


@dataclass(frozen=True)
class Round:
    """demonstrations: real ones that its policy has learnt from. steps: how long. parent: what it was fine-tuned from.
    gate: the stage it reached, and why not further. errands: what was collected after it, under which conditions;
    collected: how many good demonstrations that gave. prepared: it was diagnosed and collected for, so that another
    round can follow."""

    number: int
    config_digest: str
    demonstrations: int
    steps: int
    parent: str
    twin: Mapping[str, Any]
    robot: Mapping[str, Any]
    gate: Mapping[str, Any]
    verdict: str
    found: tuple[str, ...]
    errands: tuple[Mapping[str, Any], ...]
    collected: int
    prepared: bool


@dataclass(frozen=True)
class LoopResult:
    path: Path
    rounds: tuple[Round, ...]
    reached: bool
    why: str


def read_round(file: Path) -> Round:
    try:
        value = json.loads(read_bounded(file, MOST_BYTES))
        return Round(**value | {name: tuple(value[name]) for name in SEVERAL})
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptError(
            f"{file}: is no round of a loop ({error!s:.100}); delete it, and the round is told again"
        ) from None


def write_json(file: Path, value: Mapping[str, Any] | list[Any]) -> None:
    with storage_errors(file):
        text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
        replace_file(file, text.encode(), scratch=file.parent)
