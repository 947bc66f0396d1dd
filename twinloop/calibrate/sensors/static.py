"""Makes a patch from logs of sensors at rest and scans of a table: sensor rows with ranges and intervals."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from twinloop import __version__
from twinloop.calibrate.logs import Log, read_logs
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.calibrate.sensors.allan import FEWEST, ImuNoise, imu_noise
from twinloop.calibrate.sensors.depth import DepthNoise, depth_noise
from twinloop.calibrate.sensors.drift import drift_scale, line_of
from twinloop.calibrate.sensors.encoder import encoder_floor
from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, together
from twinloop.calibrate.sensors.pcd import read_scan
from twinloop.calibrate.sensors.static_file import SensorConfig, StaticFile
from twinloop.durable import digest_file
from twinloop.errors import DatasetError
from twinloop.randomize.sensing import DRIFT_S
from twinloop.randomize.table import BY_NAME

MOVED = 6.0
WINDOWS = 20


@dataclass
class _Findings:
    """Results so far.

    Attributes:
        fitted: full name -> estimate in the unit of the row.
        unknown: full name -> why it is not determined.
        rows: row -> estimates whose union is the range of the row.
    """

    fitted: dict[str, Fitted] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    rows: dict[str, list[IntervalEstimate]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, sensor: str, row: str, estimates: Iterable[IntervalEstimate], *, ranged: IntervalEstimate | None = None
    ) -> None:
        """Add the estimates of one row, from all axes and logs of one sensor.

        Args:
            ranged: range to propose for the row instead of the scatter of the estimates.
        """
        mean, one = together(estimates)
        self.fitted[f"{sensor}.{row}"] = Fitted(mean.value, mean.low, mean.high, BY_NAME[row].unit)
        self.rows.setdefault(row, []).append(ranged or one)

    def add_quantity(self, name: str, estimates: Iterable[IntervalEstimate], unit: str) -> None:
        """Add a quantity that is not a row of the parameter table."""
        mean, _ = together(estimates)
        self.fitted[name] = Fitted(mean.value, mean.low, mean.high, unit)


def calibrate_static(static: StaticFile, logs: Path, *, seed: int) -> TwinPatch:
    """Make the patch from the logs and scans in the folder `logs`."""
    findings, digests, config = _Findings(), {}, static.logs
    if static.sensors:
        read = read_logs(
            logs, format=config.format, files=config.files, rows=config.rows, time=config.time, rate_hz=config.rate_hz
        )
        digests |= {log.name: log.digest for log in read}
        for sensor in static.sensors:
            _OF_KIND[sensor.kind](static, sensor, [readings_of(log, sensor) for log in read], read, findings)
    if static.scans is not None:
        digests |= _scans(static, static.scans.files, logs, findings, seed=seed)
    return TwinPatch(
        fitted=findings.fitted,
        unknown=findings.unknown,
        samples={},
        spread={},
        ranges={row: _range(row, estimates) for row, estimates in findings.rows.items()},
        provenance=Provenance(static.path.stem, static.digest, digests, {}, f"twinloop {__version__}", seed),
        notes=tuple(findings.notes),
    )


def _range(row: str, estimates: Sequence[IntervalEstimate]) -> tuple[float, float]:
    """Union of the intervals of all sensors that one row stands for, within the row's plausible range."""
    low, high = min(estimate.low for estimate in estimates), max(estimate.high for estimate in estimates)
    ends = BY_NAME[row].plausible
    return float(np.clip(low, *ends)), float(np.clip(high, *ends))


def readings_of(log: Log, sensor: SensorConfig) -> np.ndarray:
    """(frames, elements) readings in SI units, without rows that contain NaN or infinity."""
    for column in sensor.columns:
        if column not in log.columns:
            raise DatasetError(f"{log.name}: has no column {column!r}; it has {', '.join(sorted(log.columns))}")
    whole = np.concatenate([log.columns[column] for column in sensor.columns], axis=1)
    if sensor.elements and max(sensor.elements) >= whole.shape[1]:
        raise DatasetError(f"{log.name}: {sensor.name} has {whole.shape[1]} elements, not {max(sensor.elements) + 1}")
    rows = sensor.scale * (whole[:, list(sensor.elements)] if sensor.elements else whole)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < FEWEST:
        raise DatasetError(f"{log.name}: {sensor.name} has {len(rows)} readings; at least {FEWEST} are needed")
    return rows


def refuse_motion(log: Log, sensor: SensorConfig, readings: np.ndarray, rate_hz: float) -> None:
    """Raise DatasetError if the sensor moved: noise is constant, so a window with far more of it was not at rest."""
    size = len(readings) // WINDOWS
    windows = readings[: size * WINDOWS].reshape(WINDOWS, size, -1).std(axis=1)
    usual = np.median(windows, axis=0)
    window, element = np.unravel_index(int(np.argmax(windows / np.maximum(usual, 1e-30))), windows.shape)
    if windows[window, element] > MOVED * usual[element]:
        times = windows[window, element] / usual[element]
        raise DatasetError(
            f"{log.name}: {sensor.name} was not at rest: element {element} is {times:.0f} times as noisy as usual "
            f"at {window * size / rate_hz:.3g} s. Remove that part, or record again at rest"
        )


def _encoder(_static: StaticFile, sensor: SensorConfig, runs: list[np.ndarray], logs: list[Log], findings: _Findings):
    steps, noises, silent = [], [], ""
    for log, rows in zip(logs, runs, strict=True):
        for element, readings in enumerate(rows.T):
            floor = encoder_floor(readings)
            silent = floor.why_unknown or silent
            if floor.step is None or floor.noise is None:
                continue
            if np.ptp(readings) > 40 * max(floor.step.value, np.diff(readings).std() / np.sqrt(2)):
                raise DatasetError(
                    f"{log.name}: {sensor.name} was not at rest: element {element} moved by {np.ptp(readings):.3g} rad"
                )
            steps.append(floor.step.scaled(1000))
            noises.append(floor.noise.scaled(1000))
    still = "a joint that rests between two steps, or is turned very slowly by hand"
    if noises:
        findings.add(sensor.name, "encoder_step_mrad", steps)
        findings.add(sensor.name, "encoder_noise_mrad", noises)
    else:
        for row in ("encoder_step_mrad", "encoder_noise_mrad"):
            findings.unknown[f"{sensor.name}.{row}"] = Unknown(silent, still)
    findings.unknown[f"{sensor.name}.encoder_bias_mrad"] = Unknown(
        "at rest a constant error cannot be distinguished from another pose",
        "a known pose, for example at a stop or a mark",
    )


def _imu(row: str, scale: float):
    def of(static: StaticFile, sensor: SensorConfig, runs: list[np.ndarray], logs: list[Log], findings: _Findings):
        noises: list[ImuNoise] = []
        for log, rows in zip(logs, runs, strict=True):
            refuse_motion(log, sensor, np.diff(rows, axis=0), static.logs.rate_hz)
            noises += [imu_noise(readings, static.logs.rate_hz) for readings in rows.T]
        # The noise of the row is per reading at the control rate, so the density is scaled to that bandwidth.
        whites = [noise.random_walk.scaled(scale * static.twin.control_hz**0.5) for noise in noises]
        findings.add(sensor.name, row, whites)
        walks = [
            IntervalEstimate(
                *(end * scale / white.value for end in (noise.walk.value, noise.walk.low, noise.walk.high))
            )
            for noise, white in zip(noises, whites, strict=True)
        ]
        findings.add(sensor.name, "imu_walk_per_s", walks)
        unit = BY_NAME[row].unit
        findings.add_quantity(
            f"{sensor.name}.random_walk", [noise.random_walk.scaled(scale) for noise in noises], f"{unit}/√Hz"
        )
        findings.add_quantity(
            f"{sensor.name}.rate_random_walk", [noise.walk.scaled(scale) for noise in noises], f"{unit}/√s"
        )
        seen = [noise.instability.scaled(scale) for noise in noises if noise.instability is not None]
        if seen:
            findings.add_quantity(f"{sensor.name}.bias_instability", seen, unit)
        else:
            most = max(noise.flicker_below for noise in noises) * scale
            findings.unknown[f"{sensor.name}.bias_instability"] = Unknown(
                f"no bias instability above noise and random walk; it is below {most:.3g} {unit}",
                "a longer log at rest",
            )

    return of


def _white(row: str, scale: float):
    def of(static: StaticFile, sensor: SensorConfig, runs: list[np.ndarray], logs: list[Log], findings: _Findings):
        noises = []
        for log, rows in zip(logs, runs, strict=True):
            refuse_motion(log, sensor, rows, static.logs.rate_hz)
            noises += [deviation(column - column.mean(), degrees=len(column) - 1).scaled(scale) for column in rows.T]
        findings.add(sensor.name, row, noises)

    return of


def _drifting(row: str, drift_row: str):
    def of(static: StaticFile, sensor: SensorConfig, runs: list[np.ndarray], logs: list[Log], findings: _Findings):
        lines = []
        for log, rows in zip(logs, runs, strict=True):
            time_s = np.arange(len(rows)) / static.logs.rate_hz
            refuse_motion(log, sensor, rows - time_s[:, None] * np.polyfit(time_s, rows, 1)[0], static.logs.rate_hz)
            lines += [line_of(column, time_s) for column in rows.T]
        findings.add(sensor.name, row, [line.noise for line in lines])
        if drift_row:
            findings.add(sensor.name, drift_row, [drift_scale(lines, over_s=DRIFT_S, zeroed=sensor.zeroed)])

    return of


_OF_KIND: dict[str, Callable[[StaticFile, SensorConfig, list[np.ndarray], list[Log], _Findings], None]] = {
    "encoder": _encoder,
    "gyroscope": _imu("gyro_noise_mrad_s", 1000.0),
    "accelerometer": _imu("accelerometer_noise_m_s2", 1.0),
    "force": _drifting("force_noise_n", "force_drift_n"),
    "torque": _drifting("torque_noise_nm", ""),
    "effort": _white("effort_noise_nm", 1.0),
    "tracker": _white("tracker_noise_mm", 1000.0),
}


def _scans(static: StaticFile, pattern: str, folder: Path, findings: _Findings, *, seed: int) -> dict[str, str]:
    files = [folder] if folder.is_file() else sorted(folder.glob(pattern))
    if not files:
        raise DatasetError(f"{folder}: no file matches {pattern!r} (`scans.files` of {static.path})")
    noise = depth_noise([read_scan(file) for file in files], rng=np.random.default_rng(seed))
    if noise.step_mm is None:
        findings.unknown["depth.depth_quantisation_mm"] = Unknown(
            "depths are not whole steps of a disparity, or were smoothed", "raw scans, before any filter"
        )
    else:
        findings.add("depth", "depth_quantisation_mm", [noise.step_mm])
    ranged = IntervalEstimate(noise.spread_px.value, *noise.near_far_px)
    findings.add("depth", "depth_edge_noise_px", [noise.spread_px], ranged=ranged)
    findings.add("depth", "depth_hole_share", [noise.hole_share])
    findings.notes += _depth_notes(noise)
    return {file.name: digest_file(file).sha256 for file in files}


def _depth_notes(noise: DepthNoise) -> list[str]:
    plain, square = noise.axial_mm
    lines = [f"depth noise along the axis: {plain:.3g} + {square:.3g} z² mm, z in metres"]
    for depth_bin in noise.bins:
        lines.append(
            f"{depth_bin.near_m:.1f} to {depth_bin.far_m:.1f} m: {depth_bin.measured_mm:.2f} mm measured, "
            f"{depth_bin.twin_mm:.2f} mm in "
            f"the twin ({depth_bin.patches} patches)"
        )
    return lines
