"""PAIRS.json: success rates of policies on both sides, `{"real": {task: {policy: rate}}, "sim": {...}}`.

A rate is a number from 0 to 1, or `{"rate": r, "trials": n}`, or `{"successes": s, "trials": n}`.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from twinloop.durable import read_bounded
from twinloop.errors import UsageError, nearest
from twinloop.gate.statistics.agreement import Counted

from .judgement import PolicyPair

LARGEST_BYTES = 1 << 24
SIDES = ("real", "sim")
FORMS = "a number from 0 to 1, {rate, trials} or {successes, trials}"


def load_pairs(path: Path) -> dict[str, tuple[PolicyPair, ...]]:
    """Task -> its policies, in the order of the real side."""
    if not path.is_file():
        raise UsageError(
            f"{path}: is not a file; a JSON file of success rates was expected: real, sim -> task -> policy"
        )
    text = read_bounded(path, LARGEST_BYTES, error=UsageError)
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not valid JSON: {error!s:.200}") from None
    return pairs_of(content, name=str(path))


def pairs_of(content: Any, *, name: str) -> dict[str, tuple[PolicyPair, ...]]:
    """Of what the file holds; `name` is for messages."""
    sides = _mapping(content, name)
    for key in sides:
        if key not in (*SIDES, "note"):
            raise UsageError(f"{name}: unknown key {key!r}; {nearest(key, (*SIDES, 'note'))}")
    if missing := [side for side in SIDES if side not in sides]:
        raise UsageError(f"{name}: {' and '.join(missing)} missing; real and sim were expected, each task -> policy")
    real, sim = ({str(key): value for key, value in _mapping(sides[s], f"{name}: {s}").items()} for s in SIDES)
    _same(real, sim, name, "task")
    if not real:
        raise UsageError(f"{name}: has no task; real and sim were expected, each task -> policy -> rate")
    pairs = {}
    for task in real:
        ours, theirs = (_mapping(side[task], f"{name}: {s}.{task}") for side, s in ((real, "real"), (sim, "sim")))
        _same(ours, theirs, name, f"policy of {task}")
        pairs[task] = tuple(
            PolicyPair(policy, _counted(theirs[policy], f"{name}: sim.{task}.{policy}"),
                 _counted(ours[policy], f"{name}: real.{task}.{policy}"))
            for policy in ours
        )  # fmt: skip
    return pairs


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {str(value)[:60]!r} was given, a mapping was expected")
    return value


def _same(real: Mapping[str, Any], sim: Mapping[str, Any], name: str, kind: str) -> None:
    for ours, theirs, side in ((real, sim, "real"), (sim, real, "sim")):
        if alone := sorted(set(ours) - set(theirs)):
            raise UsageError(
                f"{name}: {kind} {', '.join(alone)}: only under {side}; add it to the other side or remove it here"
            )


def _counted(value: Any, where: str) -> Counted:
    def number(given: Any) -> float:
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
            raise UsageError(f"{where}: {given!r} was given; {FORMS} was expected")
        return float(given)

    rate, trials = value, None
    if isinstance(value, dict):
        if set(value) not in ({"rate", "trials"}, {"successes", "trials"}):
            raise UsageError(f"{where}: {', '.join(sorted(value)) or 'nothing'} was given; {FORMS} was expected")
        trials = number(value["trials"])
        if trials < 1 or trials != int(trials):
            raise UsageError(f"{where}: {value['trials']} trials were given; a whole number of at least 1 was expected")
        rate = value["rate"] if "rate" in value else number(value["successes"]) / trials
    rate = number(rate)
    if not 0 <= rate <= 1:
        raise UsageError(f"{where}: a rate of {rate:g} was given; {FORMS} was expected")
    return Counted(rate, None if trials is None else int(trials))
