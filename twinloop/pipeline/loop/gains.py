"""Predicted and realised gains of a loop: the prediction of a round's plan, and the gain of the next round."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twinloop.calibrate.robot_session import is_calibrated
from twinloop.config.json_file import load_json
from twinloop.diagnose.plan import Experience
from twinloop.errors import CorruptError
from twinloop.pipeline.loop.record import MOST_BYTES, Round


def predicted_gain(out: Path, number: int) -> float | None:
    """Points of success that the plan of the round before promises for round `number`; None without a plan."""
    file = out / f"round-{number - 1}" / "plan.json"
    if number == 0 or not file.exists():
        return None
    plan = load_json(file, max_bytes=MOST_BYTES, what="a plan", error=CorruptError)
    # A loop randomizes, collects, and calibrates what it can by itself. Other lines of a plan are for people.
    done = ("randomize", "collect", "calibrate" if is_calibrated(file.parent / "calibration") else "")
    return float(sum(line["gain"] for line in plan["lines"] if line["measure"] in done))


def realised_gain(before: Sequence[Round], robot: Mapping[str, Any]) -> float | None:
    """Points of success on the robot that were won since the round before; None if one of them did not act there."""
    if not before or before[-1].robot["rate"] is None or robot["rate"] is None:
        return None
    return 100 * (robot["rate"] - before[-1].robot["rate"])


def experience_of(rounds: Sequence[Round]) -> Experience:
    """Predicted and realised gains of the rounds so far."""
    gains = [(done.predicted_gain, done.realised_gain) for done in rounds]
    pairs = [(predicted, realised) for predicted, realised in gains if predicted is not None and realised is not None]
    return Experience(len(pairs), sum(predicted for predicted, _ in pairs), sum(realised for _, realised in pairs))
