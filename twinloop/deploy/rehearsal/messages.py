"""Records of a robot as wire messages: descriptions, readings, briefings and outcomes of a rehearsal cell."""

from collections.abc import Mapping

import numpy as np

from twinloop.deploy.robot import Briefing, Description, Limits, Outcome, Reading
from twinloop.deploy.wire import Message
from twinloop.observe.recording import Feature


def description_message(description: Description) -> Message:
    limits = {
        name: np.asarray(getattr(description.limits, name), float).tolist() for name in Limits.__dataclass_fields__
    }
    return {
        "robot": description.robot, "id": description.id, "rate_hz": description.rate_hz,
        "home": list(description.home), "observed": [vars(feature) for feature in description.observed],
        "action": vars(description.action), "limits": limits, "lockstep": description.lockstep,
        "task": description.task,
    }  # fmt: skip


def read_description(message: Message) -> Description:
    limits = {name: np.array(message["limits"][name], float) for name in Limits.__dataclass_fields__}
    return Description(
        robot=str(message["robot"]), id=str(message["id"]), rate_hz=float(message["rate_hz"]),
        home=tuple(map(float, message["home"])), observed=tuple(map(_feature, message["observed"])),
        action=_feature(message["action"]), limits=Limits(**limits), lockstep=bool(message["lockstep"]),
        simulated=True, task=str(message["task"]),
    )  # fmt: skip


def reading_message(reading: Reading) -> tuple[Message, dict[str, np.ndarray]]:
    arrays = {name: _as_sent(values) for name, values in reading.features.items()}
    return {"sequence": reading.sequence, "timestamp_s": reading.timestamp_s, "achieved": reading.achieved}, arrays


def read_reading(message: Message, arrays: Mapping[str, np.ndarray]) -> Reading:
    features = {name: _as_sent(values) for name, values in arrays.items()}
    achieved = message["achieved"]
    return Reading(
        int(message["sequence"]), float(message["timestamp_s"]), features,
        achieved=None if achieved is None else bool(achieved),
    )  # fmt: skip


def _as_sent(values: np.ndarray) -> np.ndarray:
    """Return images as they are, and other readings in single precision."""
    return values if values.dtype == np.uint8 else np.asarray(values, np.float32)


def read_briefing(message: Message) -> Briefing:
    conditions = {str(name): str(value) for name, value in message["conditions"].items()}
    return Briefing(str(message["instruction"]), conditions)


def read_outcome(message: Message) -> Outcome:
    success = message["success"]
    return Outcome(None if success is None else bool(success), str(message["detail"]))


def _feature(value: Message) -> Feature:
    return Feature(
        name=str(value["name"]), dtype=value["dtype"], shape=tuple(map(int, value["shape"])),
        names=tuple(map(str, value["names"])), unit=str(value["unit"]),
    )  # fmt: skip
