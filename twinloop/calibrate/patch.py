"""TwinPatch: the result of a calibration as a file: values with intervals, ranges for a run config, and provenance.

A patch is applied to a twin or a config when it is used. It never changes their files.
"""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.delay_lag import DelayLag
from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import read_yaml
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError, nearest
from twinloop.randomize.table import BY_NAME

VERSION = 1


@dataclass(frozen=True)
class Fitted:
    """A fitted variable: the most likely value and its 90 % interval."""

    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Unknown:
    """A requested variable that the logs do not determine, and the motion that would."""

    reason: str
    reveals: str


@dataclass(frozen=True)
class Provenance:
    """Where a patch comes from. `residual`: channel -> rmse and mae on the logs of the fit, in the log's unit."""

    twin: str
    twin_digest: str
    logs: dict[str, str]
    residual: dict[str, dict[str, float]]
    code: str
    seed: int


@dataclass(frozen=True)
class SimpleModel:
    """Delay plus first-order lag of one channel, and its errors beside those of the fitted twin, in the log's unit.

    `rmse` is on the logs of the fit. `held_out_rmse` and `twin_held_out_rmse` are from cross-validation: on logs that
    neither model was fitted on. Without cross-validation (a single log), `held_out_rmse` is 0.
    """

    delay_ms: float
    lag_ms: float
    rmse: float
    held_out_rmse: float
    twin_held_out_rmse: float


@dataclass(frozen=True)
class TwinPatch:
    """The result of a calibration.

    Attributes:
        fitted, unknown: fit variables with value and interval; those that the logs do not determine.
        samples: draws of the posterior, one value per fit variable and draw.
        spread: channel -> ends of the 90 % band in the log's unit, for a log whose range of motion is `swing`.
        gap: channel -> how much the band grows with the tracking gap (band.py).
        drawn: channel -> how much the band grows with the spread of the samples.
        ranges: row of the parameter table -> proposed range.
        delay_lag: channel -> the simple model, fitted on the same logs.
    """

    fitted: dict[str, Fitted]
    unknown: dict[str, Unknown]
    samples: dict[str, tuple[float, ...]]
    spread: dict[str, tuple[float, float]]
    ranges: dict[str, tuple[float, float]]
    provenance: Provenance
    notes: tuple[str, ...] = field(default=())
    swing: dict[str, float] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)
    gap: dict[str, float] = field(default_factory=dict)
    delay_lag: dict[str, SimpleModel] = field(default_factory=dict)

    @property
    def delay_lag_models(self) -> dict[str, DelayLag]:
        return {name: DelayLag(each.delay_ms / 1000, each.lag_ms / 1000) for name, each in self.delay_lag.items()}

    @property
    def values(self) -> dict[str, float]:
        return {name: found.value for name, found in self.fitted.items()}

    def to_yaml(self) -> str:
        groups: dict[str, dict[str, list[float]]] = {}
        for name, (low, high) in self.ranges.items():
            groups.setdefault(BY_NAME[name].group, {})[name] = [_short(low), _short(high)]
        content = {
            "twin_patch": VERSION,
            "fitted": {name: {key: _short(v) for key, v in asdict(each).items()} for name, each in self.fitted.items()},
            "unknown": {name: asdict(each) for name, each in self.unknown.items()},
            "randomization": groups,
            "spread": {name: [_short(low), _short(high)] for name, (low, high) in self.spread.items()},
            "swing": {name: _short(far) for name, far in self.swing.items()},
            "drawn": {name: _short(share) for name, share in self.drawn.items()},
            "gap": {name: _short(share) for name, share in self.gap.items()},
            "delay_lag": {
                name: {key: _short(v) for key, v in asdict(model).items()} for name, model in self.delay_lag.items()
            },
            "samples": {name: [_short(value) for value in values] for name, values in self.samples.items()},
            "provenance": asdict(self.provenance),
            "notes": list(self.notes),
        }
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)

    def write(self, path: Path) -> None:
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, self.to_yaml().encode(), scratch=path.parent)


def load_patch(path: Path) -> TwinPatch:
    value, lines = read_yaml(path)
    root = Section(str(path), "", value, lines)
    if root.raw("twin_patch") != VERSION:
        raise UsageError(f"{path}: is not a twin patch of version {VERSION}; `twinloop calibrate` writes one")
    patch = TwinPatch(
        fitted=_read_fitted(root.section("fitted")),
        unknown=_read_unknown(root.section("unknown")),
        samples={name: root.section("samples").numbers(name) for name in _keys(root, "samples")},
        spread={name: _pair(root.section("spread"), name) for name in _keys(root, "spread")},
        ranges=_read_ranges(root.section("randomization")),
        provenance=_read_provenance(root.section("provenance")),
        notes=tuple(root.raw("notes") or ()),
        swing={name: root.section("swing").number(name, 1.0, low=1e-12, high=1e12) for name in _keys(root, "swing")},
        drawn={name: root.section("drawn").number(name, 1.0, low=0, high=1e12) for name in _keys(root, "drawn")},
        gap={name: root.section("gap").number(name, 0.0, low=0, high=1e12) for name in _keys(root, "gap")},
        delay_lag={name: _read_simple(root.section("delay_lag").section(name)) for name in _keys(root, "delay_lag")},
    )
    root.finish()
    return patch


def _keys(root: Section, key: str) -> list[str]:
    root.raw(key)
    return list(root.section(key))


def _read_fitted(section: Section) -> dict[str, Fitted]:
    found = {}
    for name in section:
        entry = section.section(name)
        numbers = [entry.number(key, float("nan"), low=-1e12, high=1e12) for key in ("value", "low", "high")]
        if not np.isfinite(numbers).all():
            raise section.error(name, "needs value, low and high")
        found[name] = Fitted(*numbers, unit=entry.text("unit", ""))
        entry.finish()
    return found


def _read_simple(section: Section) -> SimpleModel:
    names = [field.name for field in fields(SimpleModel)]
    model = SimpleModel(*(section.number(name, 0.0, low=0, high=1e12) for name in names))
    section.finish()
    return model


def _read_unknown(section: Section) -> dict[str, Unknown]:
    found = {}
    for name in section:
        entry = section.section(name)
        found[name] = Unknown(entry.text("reason", ""), entry.text("reveals", ""))
        entry.finish()
    return found


def _pair(section: Section, key: str) -> tuple[float, float]:
    value = section.raw(key)
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_number, value)) or value[0] > value[1]:
        raise section.error(key, f"is {value!r}; two numbers were expected, the smaller first")
    return float(value[0]), float(value[1])


def _read_ranges(section: Section) -> dict[str, tuple[float, float]]:
    ranges = {}
    for group in section:
        rows = section.section(group)
        for name in rows:
            if name not in BY_NAME or BY_NAME[name].group != group:
                raise rows.error(name, f"is no row of {group}; {nearest(name, BY_NAME)}")
            ranges[name] = _pair(rows, name)
    return ranges


def _read_provenance(section: Section) -> Provenance:
    logs, residual = section.raw("logs") or {}, section.raw("residual") or {}
    if not isinstance(logs, dict) or not isinstance(residual, dict):
        raise section.error("logs", "and residual must be mappings")
    return Provenance(
        twin=section.text("twin", ""),
        twin_digest=section.text("twin_digest", ""),
        logs={str(name): str(digest) for name, digest in logs.items()},
        residual={str(name): dict(each) for name, each in residual.items()},
        code=section.text("code", ""),
        seed=section.integer("seed", 0, low=0, high=(1 << 63) - 1),
    )


def _short(value: Any) -> Any:
    """Round to six digits: more than a fit determines, and readable."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def refuse_other_twin(patch: TwinPatch, bench: Bench) -> None:
    """Raise an error if the patch sets a variable that this bench does not have."""
    for name in patch.fitted:
        if name not in bench.knobs:
            raise UsageError(
                f"the patch of {patch.provenance.twin or 'another twin'} sets {name!r}, which {bench.path} does not "
                f"have; {nearest(name, bench.knobs)}"
            )
