"""RobotDrive: the servo law of a robot's joints, and its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from twinloop.config.compound import Mapped
from twinloop.config.fields import mapped, word
from twinloop.config.kinds import Number

DriveKind = Literal["position_servo", "voltage_servo"]
KINDS: tuple[DriveKind, ...] = ("position_servo", "voltage_servo")


@dataclass(frozen=True)
class RobotDrive:
    """How a robot's joints are driven: the kind of servo, and its quantities joint by joint.

    A robot without one has the position actuators of its model. `joints` may be incomplete: what it does not say
    follows from these actuators (`simulate/drives/nominal.py`).

    Example:
        >>> RobotDrive("position_servo", {"elbow_flex": {"stiffness_nm_rad": 14.0, "delay_ms": 20.0}}).kind
        'position_servo'
    """

    kind: DriveKind = word("position_servo", words=KINDS, help="the servo law")
    joints: Mapping[str, Mapping[str, float]] = mapped(
        Mapped(item=Number(), what="quantity", most=None), what="joint", most=None,
        help="joint -> quantity of its servo (`twinloop parameters --group actuation`) -> value",
    )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.kind, tuple((joint, tuple(values.items())) for joint, values in self.joints.items())))

    def over(self, other: "RobotDrive | None") -> "RobotDrive":
        """This drive, completed with the values of another one of the same kind."""
        if other is None or other.kind != self.kind:
            return self
        names = dict.fromkeys((*other.joints, *self.joints))
        return RobotDrive(
            self.kind, {name: {**other.joints.get(name, {}), **self.joints.get(name, {})} for name in names}
        )
