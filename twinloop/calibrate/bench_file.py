"""BenchFile: the keys of a bench file. `bench.py` checks them against the model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from twinloop.calibrate.logs import FORMATS
from twinloop.config.compound import Keyed, Listed, Mapped, OneOf
from twinloop.config.fields import flag, integer, internal, mapped, named, number, of_kind, text, texts, word
from twinloop.config.kinds import AnyValue, Integer, Number, Text
from twinloop.config.record import Nested, by_name, json_schema, nested
from twinloop.errors import ConfigError, nearest
from twinloop.simulate.drives import DRIVES
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots

Refusal = Callable[[str, str], ConfigError]
"""Makes the error for a key of a section and what is wrong with it."""

Search = Literal["slopes", "population"]
"""Search method: `slopes` follows gradients; `population` is for chaotic motion, where gradients are useless."""
Of = Literal["position", "velocity", "torque", "current", "place", "turn", "linear_velocity", "angular_velocity"]
Side = Literal["motor", "link"]

WIDTH: dict[str, int] = {"place": 3, "turn": 4, "linear_velocity": 3, "angular_velocity": 3}
"""Elements of a quantity; 1 for those that are not listed."""
EFFORT_UNITS: dict[str, dict[str, float]] = {
    "torque": {"Nm": 1.0, "N·m": 1.0, "N.m": 1.0, "mNm": 1e-3, "Ncm": 1e-2},
    "current": {"A": 1.0, "mA": 1e-3},
}
"""Quantity -> unit in a log -> factor to N·m or A."""
MODEL_UNIT = {"torque": "N·m", "current": "A"}
EFFORT_KEYS = ("at", "gear_ratio", "torque_constant_nm_a", "bias")


@dataclass(frozen=True)
class LogFormat:
    """How logs are read."""

    format: str = word("json", words=FORMATS, help="format of the files")
    files: str = text("*", help="pattern of file names")
    rows: str = text("entries", help="key of the list of rows in a JSON file")
    time: str = text("", help="column with the time in seconds")
    rate_hz: float = number(
        None, low=0.1, high=100_000, unit="Hz", help="rate of the even grid onto which logs are resampled",
        otherwise="estimated from the time",
    )  # fmt: skip


@dataclass(frozen=True)
class LogConfig(LogFormat):
    """How logs of a bench are read. `rate_declared`: the bench file gives the rate."""

    begin_frames: int = integer(
        1, low=1, high=1000,
        help="frames of free flight from which the initial state of an undriven body is estimated; 1: as logged",
    )  # fmt: skip
    rate_declared: bool = internal(True)

    def problems(self) -> Iterator[tuple[str, str]]:
        untimed = (self.format in ("json", "csv") and not self.time) or self.format == "npz"
        if self.rate_hz is None and untimed:
            yield "rate_hz", "is missing; logs without a time column need their frames a second"


@dataclass(frozen=True)
class TwinFile:
    """The model: a robot by name, or a file."""

    robot: Robot | None = named(robots, None, help="a robot by name")
    mjcf: str | None = text(None, filled=True, help="a model file in the folder of the bench file")
    timestep_ms: float = number(5.0, low=0.1, high=50, unit="ms", help="step of the physics")

    def problems(self) -> Iterator[tuple[str, str]]:
        if (self.robot is None) == (self.mjcf is None):
            yield "", "names a robot or an mjcf file: one of the two was expected"


@dataclass(frozen=True, kw_only=True)
class PlaceFile:
    """Numbers of the model that get a value."""

    field: str = text(filled=True, help="field of MjModel, such as geom_friction")
    of: str = text(filled=True, help="name of the body, geom, contact pair, joint or actuator")
    element: int | tuple[int, ...] | None = of_kind(
        OneOf(
            kinds=(Integer(low=0), Listed(item=Integer(low=0), least=1, what="number")),
            help="element of the field, or a list of elements that all get the value",
            default="0",
        ),
        None,
    )
    scale: float = number(1.0, help="factor between the value and the number that is written")


@dataclass(frozen=True, kw_only=True)
class ParameterFile(PlaceFile):
    """A fit variable that is a number of the model."""

    low: float = number(help="lower bound")
    high: float = number(help="upper bound")
    value: float | None = number(None, help="starting value", otherwise="the middle of the bounds")
    unit: str = text("1", help="unit, for output")
    reveals: str = text("motion that this number changes", help="the motion that determines it, for messages")
    log: bool = flag(False, help="search its logarithm")
    row: str = text("", help="row of the parameter table whose range it proposes")
    row_scale: float = number(1.0, help="factor from the value to that row")

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.low < self.high:
            yield "low", f"and high are {self.low:g} and {self.high:g}; bounds are needed, the smaller one first"
        elif self.value is not None and not self.low <= self.value <= self.high:
            yield "value", f"is {self.value:g}; it must be from {self.low:g} to {self.high:g}"
        if self.log and self.low <= 0:
            yield "low", f"is {self.low:g}; a number searched by its logarithm must stay above 0"


@dataclass(frozen=True)
class VariableFile:
    """Starting value and bounds of a fit variable."""

    value: float | None = number(None, help="starting value")
    low: float | None = number(None, help="lower bound")
    high: float | None = number(None, help="upper bound")


Variable = float | VariableFile
VARIABLE = OneOf(kinds=(Number(), Nested(record=VariableFile)), help="starting value, or value, low and high")


def _variable(help: str) -> OneOf:
    return OneOf(kinds=VARIABLE.kinds, help=help)


@dataclass(frozen=True, kw_only=True)
class ChannelFile:
    """A column of the logs, or some of its elements, as a quantity of the model: model = scale · logged + offset."""

    name: str = internal()
    column: str = text("", help="column of the logs", otherwise="the name of the channel")
    elements: tuple[int | str, ...] | None = of_kind(
        Listed(
            item=OneOf(kinds=(Integer(low=0), Text(filled=True))), what="number or name",
            help="elements of the column", default="the first ones",
        ),
        None,
    )  # fmt: skip
    joint: str = text("", help="joint of the model")
    actuator: str = text("", help="actuator of the model, for a column that drives it")
    of: Of = word(
        "position", words=get_args(Of),
        help="quantity of a hinge or slide, or (from place on) of a free joint; turn is a quaternion, w first",
    )  # fmt: skip
    unit: str = text("", help="unit in the log, for output", otherwise="rad; N·m for a torque, A for a current")
    scale: float | None = number(None, help="factor from the log to m, rad, s, N·m or A", otherwise="1")
    offset: float = number(0.0, help="added after scaling")
    compared: bool = flag(True, help="a replay compares it with the twin; otherwise it only sets the beginning")
    late_frames: float | None = number(
        None, low=0, high=100,
        help="linear_velocity: frames before its stamp at which it was true; 0.5 for a difference to the frame before",
        otherwise="0",
    )  # fmt: skip
    at: Side | None = word(
        None, words=get_args(Side), help="torque, current: before (motor) or behind (link) gears and friction"
    )
    gear_ratio: float | None = number(
        None, low=1e-3, high=1e5, help="torque, current: motor turns per turn of the joint", otherwise="1"
    )
    torque_constant_nm_a: Variable | None = of_kind(
        _variable("current: torque constant of the motor (N·m/A), or value, low and high"), None
    )
    bias: Variable | None = of_kind(
        _variable("torque, current: offset of the sensor (N·m or A), or value, low and high"), None
    )

    @property
    def is_effort(self) -> bool:
        return self.of in EFFORT_UNITS and not self.actuator

    def problems(self) -> Iterator[tuple[str, str]]:
        width = WIDTH.get(self.of, 1)
        if self.elements is not None and len(self.elements) != width:
            yield "elements", f"is {list(self.elements)}; {width} numbers or names were expected for {self.of}"
        if self.scale == 0:
            yield "scale", "is 0; a number other than 0 was expected"
        if self.late_frames is not None and self.of != "linear_velocity":
            yield "late_frames", "belongs to a channel with `of: linear_velocity`"
        for key in () if self.is_effort else EFFORT_KEYS:
            if getattr(self, key) is not None:
                yield key, "belongs to a measured torque or current: `of: torque` or `of: current`, without actuator"
        if self.is_effort:
            yield from self._effort_problems()

    def _effort_problems(self) -> Iterator[tuple[str, str]]:
        units = EFFORT_UNITS[self.of]
        if not self.joint:
            yield "joint", f"is missing; a {self.of} is that of a joint"
        if self.unit and self.unit not in units and self.scale is None:
            valid = f"{', '.join(units)} were expected for a {self.of}, or a `scale` to {MODEL_UNIT[self.of]}"
            yield "unit", f"is {self.unit!r}; {valid}"
        if self.of == "torque" and self.torque_constant_nm_a is not None:
            yield "torque_constant_nm_a", "is given for a torque; it belongs to a channel with `of: current`"


@dataclass(frozen=True)
class InputFile:
    """An input of the drive that each log states."""

    constant: str = text("", help="constant of the log", otherwise="the name of the input")
    scale: float = number(1.0, help="factor from that constant")


@dataclass(frozen=True, kw_only=True)
class DriveParameters(AnyValue):
    """Fit variables of the drive, for all joints or under a joint's name. `bench.py` reads it: the keys depend on
    the model and the joints."""

    def schema(self) -> dict[str, Any]:
        return Mapped(item=VARIABLE).schema() | {
            "additionalProperties": {"anyOf": [VARIABLE.schema(), Mapped(item=VARIABLE).schema()]}
        }

    def expected(self) -> str:
        return "a mapping from the name of a fit variable, or of a joint, to values"


@dataclass(frozen=True)
class DriveFile:
    """The servo model between a command and the torque at the joint."""

    model: str = word(words=tuple(DRIVES), help="servo model")
    joints: tuple[str, ...] = texts(help="driven joints")
    enabled: str = text("", help="log column that says whether motors are powered", otherwise="they always are")
    inputs: dict[str, float | InputFile] = mapped(
        OneOf(kinds=(Number(), Nested(record=InputFile))), what="input",
        help="inputs of the servo model: a number, or constant and scale",
    )  # fmt: skip
    parameters: dict[str, Any] = of_kind(
        DriveParameters(help="starting values and bounds, for all joints or under a joint's name"), default_factory=dict
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        for name in self.inputs:
            if name not in DRIVES[self.model].inputs:
                yield f"inputs.{name}", f"is not an input of {self.model}; {nearest(name, DRIVES[self.model].inputs)}"

    @property
    def variables(self) -> Keyed:
        """The kind of `parameters`, now that model and joints are known."""
        own = {variable.name: VARIABLE for variable in DRIVES[self.model].variables}
        return Keyed(kinds={**own, **{joint: Keyed(kinds=own) for joint in self.joints}})


@dataclass(frozen=True)
class BenchFile:
    """The content of a bench file."""

    twin: TwinFile = nested(TwinFile, TwinFile(), help="the model that logs are compared with")
    logs: LogConfig = nested(LogConfig, LogConfig(), help="how logs are read")
    constants: dict[str, PlaceFile | tuple[PlaceFile, ...]] = mapped(
        OneOf(kinds=(Nested(record=PlaceFile), Listed(item=Nested(record=PlaceFile), least=1, what="place"))),
        what="constant", help="what a log states of itself (a mass, a length), and the number of the model it sets",
    )  # fmt: skip
    measured: tuple[ChannelFile, ...] = by_name(
        ChannelFile, named="name", most=None, what="channel", help="measured channels of the logs"
    )
    commanded: tuple[ChannelFile, ...] = by_name(
        ChannelFile, named="name", most=None, what="channel", help="commands in the logs"
    )
    drive: DriveFile | None = nested(
        DriveFile, optional=True, help="the servos; without it, commands go to the model's actuators"
    )
    parameters: dict[str, ParameterFile] = by_name(
        ParameterFile, what="parameter", help="numbers of the model itself that may be fitted"
    )
    fit: tuple[str, ...] = texts((), help="what is fitted unless --fit says otherwise")
    search: Search = word("slopes", words=get_args(Search), help="slopes, or population where motion is chaotic")


def bench_schema() -> dict[str, Any]:
    """JSON Schema of a bench file."""
    return json_schema(BenchFile, title="Twinloop bench")
