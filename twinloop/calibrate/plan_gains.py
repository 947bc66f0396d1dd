"""Predicted and realised gains of a loop: the prediction of a round's plan, and the gain of the next round."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twinloop.calibrate.robot_session import is_calibrated
from twinloop.config.json_file import load_json
from twinloop.diagnose.plan import Experience
from twinloop.errors import CorruptError

MAX_BYTES = 1 << 22


def predicted_gain(folder: Path) -> float | None:
    """Points of success that the plan in a round's folder promises for the next round; None without a plan."""
    file = folder / "plan.json"
    if not file.exists():
        return None
    plan = load_json(file, max_bytes=MAX_BYTES, what="a plan", error=CorruptError)
    # A loop randomizes, collects, and calibrates what it can by itself. Other lines of a plan are for people.
    done = ("randomize", "collect", "calibrate" if is_calibrated(folder / "calibration") else "")
    return float(sum(line["gain"] for line in plan["lines"] if line["measure"] in done))


def realised_gain(before: Mapping[str, Any] | None, robot: Mapping[str, Any]) -> float | None:
    """Points of success on the robot that were won since the round before; None if one of them did not act there."""
    if before is None or before["rate"] is None or robot["rate"] is None:
        return None
    return 100 * (robot["rate"] - before["rate"])


def experience_of(gains: Sequence[tuple[float | None, float | None]]) -> Experience:
    """The experience of (predicted, realised) gains of the rounds so far."""
    pairs = [(predicted, realised) for predicted, realised in gains if predicted is not None and realised is not None]
    return Experience(len(pairs), sum(predicted for predicted, _ in pairs), sum(realised for _, realised in pairs))
