"""The mapping in a config file that names the parts of a user's robot."""

from collections.abc import Iterator
from dataclasses import dataclass

from twinloop.config.compound import OneOf
from twinloop.config.fields import number, numbers, of_kind, text, texts
from twinloop.config.kinds import Text
from twinloop.config.record import Nested
from twinloop.twin.area import Area
from twinloop.twin.robot_parts.grippers import GRIPPERS

DEFAULT_SITE = "tool"


@dataclass(frozen=True)
class ToolFrame:
    """A frame for a model without a site there."""

    body: str = text(filled=True, help="the body that carries the frame, usually the hand")
    offset: tuple[float, ...] = numbers(
        (0.0, 0.0, 0.0),
        low=-2,
        high=2,
        count=3,
        unit="m",
        help="the point between the finger tips, in the body's frame",
    )
    quat: tuple[float, ...] | None = numbers(
        None, low=-1, high=1, count=4, help="rotation in the body's frame, w first: z out of the hand, fingers along y",
        otherwise="y along the line between the fingers, z towards the offset",
    )  # fmt: skip


@dataclass(frozen=True)
class WorkArea:
    """A ring around the base in which tasks place things, for an arm that does not reach the usual places."""

    centre_m: tuple[float, float] = numbers(
        low=-2, high=2, count=2, unit="m", help="middle of the ring on the table, usually the axis of the first joint"
    )
    nearest_m: float = number(low=0.01, high=5, unit="m", help="smallest distance at which the tool works")
    farthest_m: float = number(low=0.01, high=5, unit="m", help="largest distance at which the tool works")
    width: float = number(1.0, low=0.05, high=5, help="distances across, as a share of those that tasks give")

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.nearest_m >= self.farthest_m:
            yield "farthest_m", f"is {self.farthest_m:g}; more than nearest_m, {self.nearest_m:g}, was expected"

    @property
    def area(self) -> Area:
        return Area(self.centre_m, self.nearest_m, self.farthest_m, self.width)


def frame_kind(help: str) -> OneOf:
    """The name of a site or body, or a body and an offset."""
    return OneOf(kinds=(Text(form="the name of a site or body"), Nested(record=ToolFrame)), help=help)


@dataclass(frozen=True)
class GripperMapping:
    """The gripper in the model, or a shipped one that is attached to it."""

    joints: tuple[str, ...] = texts(
        (), empty=True, help="joints whose positions add up to the opening; of mirrored joints name one"
    )
    mirrored: tuple[str, ...] = texts(
        (),
        empty=True,
        help="joints that move against the first of `joints`; with an added servo they are coupled to it",
    )
    actuator: str = text(
        "", help="the actuator that opens and closes it", otherwise="a position servo is added to the joints"
    )
    fingers: tuple[str, ...] = texts((), empty=True, help="the two bodies that touch the object")
    open: float | None = number(
        None, low=-10, high=10, unit="m or rad", help="opening when open", otherwise="measured at that control end"
    )
    closed: float | None = number(
        None, low=-10, high=10, unit="m or rad", help="opening when closed", otherwise="measured at that control end"
    )
    gain_scale: float = number(
        1.0,
        low=0.01,
        high=1000,
        help="multiplies stiffness and damping of the actuator; stock models often grip weakly",
    )
    force: float | None = number(
        None, low=0.01, high=1000, unit="N or N·m",
        help="force or torque limit: of the actuator, or of each joint with an added servo",
        otherwise="the actuator's; the file's effort limit for an added servo, at most 60 N or 3 N·m",
    )  # fmt: skip
    closing_speed: float | None = number(
        None, low=0.001, high=100, unit="m/s or rad/s", help="how fast the scripted expert closes it",
        otherwise="as fast as its motor can",
    )  # fmt: skip
    attach: str = text(
        "", help=f"attach a shipped gripper to an arm without one: {', '.join(GRIPPERS)}", otherwise="none is attached"
    )
    at: str | ToolFrame = of_kind(
        frame_kind("where it is attached: a site or body, or a body and an offset; z points out of the flange"), ""
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.attach and self.attach not in GRIPPERS:
            yield "attach", f"is {self.attach!r}; one of {', '.join(GRIPPERS)} was expected"
        if self.attach and not self.at:
            yield "at", "is missing; name the site or body that the gripper is attached to"
        if self.attach and (self.joints or self.actuator or self.fingers):
            yield (
                "attach",
                "was given; joints, actuator and fingers are those of the attached gripper, so leave them out",
            )
        if not self.attach and not self.joints:
            yield "joints", "is missing; name the joints of the gripper, or `attach` one"
        if not self.attach and len(self.fingers) != 2:
            yield "fingers", f"has {len(self.fingers)} names; 2 were expected: the two bodies that touch the object"
        if (self.open is None) != (self.closed is None):
            key = "open" if self.open is None else "closed"
            yield key, "is missing; give both openings, or neither to have them measured"
        if self.open is not None and self.open == self.closed:
            yield "open", f"and closed are both {self.open:g}; they must differ"
