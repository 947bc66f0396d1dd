"""TwinPatch: the result of a calibration as a file: values with intervals, ranges for a run config, and provenance.

A patch is applied to a twin or a config when it is used. It never changes their files.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.delay_lag import DelayLag
from twinloop.config.compound import Keyed, Listed, Span
from twinloop.config.fields import mapped, number, of_kind, text, texts, version
from twinloop.config.kinds import Kind, Number
from twinloop.config.record import by_name, json_schema, nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError, nearest
from twinloop.randomize.parameter import GROUPS
from twinloop.randomize.servo import HELD
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.twin.content import robot_content
from twinloop.twin.robot import Robot
from twinloop.twin.robot_drive import RobotDrive

VERSION = 1
DIGITS = 6
"""Significant digits of numbers in a patch: more than a fit determines, and readable."""
NUMBER, RANGE = Number(digits=DIGITS), Span(equal=True, digits=DIGITS)
NOT_NEGATIVE = Number(low=0, digits=DIGITS)


@dataclass(frozen=True)
class Fitted:
    """A fitted variable: the most likely value and its 90 % interval."""

    value: float = number(digits=DIGITS, help="most likely value")
    low: float = number(digits=DIGITS, help="lower end of the 90 % interval")
    high: float = number(digits=DIGITS, help="upper end of the 90 % interval")
    unit: str = text("", help="unit of all three")


@dataclass(frozen=True)
class Unknown:
    """A requested variable that the logs do not determine, and the motion that would."""

    reason: str = text("", help="why the logs do not determine it")
    reveals: str = text("", help="the motion that would")


@dataclass(frozen=True)
class Provenance:
    """Where a patch comes from.

    Attributes:
        twin, twin_digest: name and digest of the bench.
        logs: log -> digest.
        residual: channel -> rmse and mae on the logs of the fit, in the log's unit.
        code: version of the package.
        seed: seed of the fit.
    """

    twin: str = ""
    twin_digest: str = ""
    logs: dict[str, str] = field(default_factory=dict)
    residual: dict[str, dict[str, float]] = field(default_factory=dict)
    code: str = ""
    seed: int = 0


@dataclass(frozen=True)
class FittedDrive(RobotDrive):
    """The drive of a robot after a fit: fitted values, and those that the fit kept.

    Attributes:
        robot: name of the robot.
        robot_digest: of the robot's model. A patch is refused if it has changed.
    """

    robot: str = ""
    robot_digest: str = ""

    @property
    def in_twin(self) -> RobotDrive:
        """The drive for a twin, which has objects for jaws to close on."""
        joints = {
            joint: {name: value for name, value in values.items() if name != HELD.name}
            for joint, values in self.joints.items()
        }
        return RobotDrive(self.kind, joints)


def robot_digest(robot: Robot) -> str:
    """SHA-256 of everything about a robot that decides its motion, without the drive that it declares."""
    content = robot_content(replace(robot, drive=None))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class SimpleModel:
    """Delay plus first-order lag of one channel, and its errors beside those of the fitted twin, in the log's unit.

    Held-out errors are from cross-validation: on logs that neither model was fitted on. Without cross-validation (a
    single log), `held_out_rmse` is 0.
    """

    delay_ms: float = number(0.0, low=0, digits=DIGITS, unit="ms", help="dead time")
    lag_ms: float = number(0.0, low=0, digits=DIGITS, unit="ms", help="time constant of the lag")
    rmse: float = number(0.0, low=0, digits=DIGITS, help="error on the logs of the fit")
    held_out_rmse: float = number(0.0, low=0, digits=DIGITS, help="error on held-out logs")
    twin_held_out_rmse: float = number(0.0, low=0, digits=DIGITS, help="error of the fitted twin on held-out logs")


@dataclass(frozen=True, kw_only=True)
class ProposedRanges(Keyed):
    """Row of the parameter table -> range; in the file grouped as the section `randomization` of a run config is."""

    kinds: Mapping[str, Kind] = field(
        default_factory=lambda: {
            group: Keyed(kinds={row.name: RANGE for row in TABLE if row.group == group}) for group in GROUPS
        }
    )

    def read(self, section: Section, key: str) -> dict[str, tuple[float, float]]:
        return {name: ends for rows in super().read(section, key).values() for name, ends in rows.items()}

    def write(self, value: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
        groups: dict[str, dict[str, tuple[float, float]]] = {}
        for name, ends in value.items():
            groups.setdefault(BY_NAME[name].group, {})[name] = ends
        return super().write(groups)


@dataclass(frozen=True, kw_only=True)
class TwinPatch:
    """The result of a calibration."""

    twin_patch: int = version(VERSION, help="version of a twin patch; `twinloop calibrate` writes one")
    fitted: dict[str, Fitted] = by_name(Fitted, most=None, what="variable", help="fit variables with interval")
    unknown: dict[str, Unknown] = by_name(
        Unknown, most=None, what="variable", help="fit variables that the logs do not determine"
    )
    ranges: dict[str, tuple[float, float]] = of_kind(
        ProposedRanges(key="randomization", help="proposed ranges of the parameter table"), default_factory=dict
    )
    spread: dict[str, tuple[float, float]] = mapped(
        RANGE, what="channel", most=None,
        help="ends of the 90 % band in the log's unit, for a log whose range of motion is `swing`",
    )  # fmt: skip
    swing: dict[str, float] = mapped(
        Number(low=0, above=True, digits=DIGITS),
        what="channel",
        most=None,
        help="range of motion in the logs of the fit",
    )
    drawn: dict[str, float] = mapped(
        NOT_NEGATIVE, what="channel", most=None, help="how much the band grows with the spread of the samples"
    )
    effort: dict[str, float] = mapped(
        NOT_NEGATIVE, what="channel", most=None, help="how much the band grows with the effort of the servo (band.py)"
    )
    gap: dict[str, float] = mapped(
        NOT_NEGATIVE, what="channel", most=None, help="in patches of earlier versions, instead of `effort`; not used"
    )
    delay_lag: dict[str, SimpleModel] = by_name(
        SimpleModel, most=None, what="channel", help="the simple model, fitted on the same logs"
    )
    samples: dict[str, tuple[float, ...]] = mapped(
        Listed(item=NUMBER, what="value"), what="variable", most=None, help="draws of the posterior"
    )
    drive: FittedDrive | None = nested(
        FittedDrive, optional=True, help="nominal values of every joint of a robot; their ranges are those of `fitted`"
    )
    provenance: Provenance = nested(Provenance, help="where the patch comes from")
    notes: tuple[str, ...] = texts((), empty=True, help="remarks of the calibration")

    @property
    def delay_lag_models(self) -> dict[str, DelayLag]:
        return {name: DelayLag(model.delay_ms / 1000, model.lag_ms / 1000) for name, model in self.delay_lag.items()}

    @property
    def values(self) -> dict[str, float]:
        return {name: estimate.value for name, estimate in self.fitted.items()}

    @property
    def digest(self) -> str:
        """SHA-256 of the patch as it is written."""
        return hashlib.sha256(json.dumps(write_record(self), sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        return yaml.safe_dump(write_record(self), sort_keys=False, allow_unicode=True, width=110)

    def write(self, path: Path) -> None:
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, self.to_yaml().encode(), scratch=path.parent)


def load_patch(path: Path) -> TwinPatch:
    return read_record(TwinPatch, Section(str(path), "", *read_yaml(path)))


def patch_schema() -> dict[str, Any]:
    """JSON Schema of a twin patch."""
    return json_schema(TwinPatch, title="Twinloop patch of a twin")


def refuse_other_twin(patch: TwinPatch, bench: Bench, *, name: str = "the patch") -> None:
    """Raise if the patch is that of another bench, or of a bench that has changed since. `name`: of its file."""
    twin, digest = patch.provenance.twin or "another twin", patch.provenance.twin_digest
    for variable in patch.fitted:
        if variable not in bench.variables:
            raise UsageError(
                f"{name}: fitted: is a patch of {twin} and sets {variable!r}, which {bench.path} does not have; "
                f"{nearest(variable, bench.variables)}"
            )
    if digest and twin == bench.name and digest != bench.digest:
        raise UsageError(
            f"{name}: provenance.twin_digest: {bench.path} or its model has changed since this patch was fitted, so "
            f"its values may not hold; run `twinloop calibrate {bench.path} --logs ...` again, or use `--without-patch`"
        )
