"""Round and LoopResult: the records of a loop, and the files that hold them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.config.json_file import load_json
from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import ConfigError, CorruptError

MOST_BYTES = 1 << 22
NOT_DEPLOYED: Mapping[str, Any] = {"successes": 0, "trials": 0, "rate": None, "low": 0.0, "high": 1.0}
"""Success rate of a policy that the gate held back, so that it did not act on the robot."""


@dataclass(frozen=True)
class Round:
    """The result of one round.

    Attributes:
        demonstrations: real demonstrations that the policy was trained on.
        steps: of training. parent: digest of the checkpoint it was fine-tuned from.
        twin, robot: success rates, as JSON.
        gate: the stage that was reached, the reasons against the next one, and the runlog of the trials.
        verdict, open_gaps: sentence and open gaps of the diagnosis.
        requests: collection requests after the round. collected: accepted demonstrations that they gave.
        prepared: diagnosis and collection are done, so that another round can follow.
        predicted_gain: points of success that the plan of the round before promised; None without a plan.
        realised_gain: points of success on the robot that were won since the round before.
    """

    number: int
    config_digest: str
    demonstrations: int
    steps: int
    parent: str
    twin: Mapping[str, Any]
    robot: Mapping[str, Any]
    gate: Mapping[str, Any]
    verdict: str
    open_gaps: tuple[str, ...]
    requests: tuple[Mapping[str, Any], ...]
    collected: int
    prepared: bool
    predicted_gain: float | None = None
    realised_gain: float | None = None


@dataclass(frozen=True)
class LoopResult:
    path: Path
    rounds: tuple[Round, ...]
    reached: bool
    why: str


def read_round(file: Path) -> Round:
    what = "the record of a round"
    content = load_json(file, max_bytes=MOST_BYTES, what=what, error=CorruptError)
    try:
        return read_record(Round, Section(str(file), "", content, {}))
    except ConfigError as error:
        raise CorruptError(f"{error}. It is not {what}; delete it and run the loop again") from None


def write_json(file: Path, value: Mapping[str, Any] | list[Any]) -> None:
    with storage_errors(file):
        text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
        replace_file(file, text.encode(), scratch=file.parent)
