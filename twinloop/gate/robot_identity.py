"""RobotIdentity: which robot a decision of the gate is about, and whether it is still the same one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class RobotIdentity:
    """One robot as it described itself when it was connected.

    Attributes:
        id: name of the robot, as runlogs have it.
        model: the robot model, as datasets and checkpoints name it.
        serial, firmware: as the robot reports them; "" if it does not.
        fingerprint: digest of the whole description: model, serial, firmware, joints, features, rate and limits.
        simulated: a twin or a rehearsal cell.
    """

    id: str
    model: str
    serial: str
    firmware: str
    fingerprint: str
    simulated: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "RobotIdentity":
        texts = {name: str(values[name]) for name in ("id", "model", "serial", "firmware", "fingerprint")}
        return cls(**texts, simulated=values["simulated"] is True)

    def difference(self, other: "RobotIdentity") -> str:
        """Describe the differences of `other`; "" if it is the same robot, unchanged."""
        for what, ours, theirs in (
            ("the id", self.id, other.id),
            ("the model", self.model, other.model),
            ("the serial number", self.serial, other.serial),
            ("the firmware", self.firmware, other.firmware),
        ):
            if ours != theirs:
                return f"{what} is {theirs or 'not reported'!r}, and was {ours or 'not reported'!r}"
        if self.simulated != other.simulated:
            return "it is simulated now" if other.simulated else "it is hardware now"
        if self.fingerprint != other.fingerprint:
            return "joints, features, rate or limits of its description have changed"
        return ""
