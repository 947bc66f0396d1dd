"""The checks of calibration logs: clock, missing values, ranges, clipping, signs, units, swapped joints, delay."""

from copy import copy
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.effort import QUANTITIES
from twinloop.calibrate.logs import Log
from twinloop.calibrate.track import Track
from twinloop.signals.clock import estimate_clock
from twinloop.signals.delay import DelayEstimate, estimate_delay, fit_line

Severity = Literal["refused", "dropped", "warning", "note"]

MIN_DURATION_S, MIN_FRAMES = 0.5, 10
RATE_TOLERANCE = 0.05
RATE_NOTE = 0.01
JITTER_NOTE = 0.1
MAX_MISSING = 0.2
MAX_DELAY_S = 0.5
MIN_LEAD_S = 0.01
EFFORT_HZ = 50.0
"""Rate at which accelerations are computed for the check of torques: noise is too large at high rates."""
DELAYS_TRIED = 26
FACTORS = {"degrees for radians": 180 / np.pi, "radians for degrees": np.pi / 180, "thousandths for units": 1000.0,
           "units for thousandths": 1e-3}  # fmt: skip


@dataclass(frozen=True)
class LogFinding:
    """The result of a check.

    Attributes:
        severity: `refused` stops a fit, `dropped` leaves the log out; the others are only printed.
        kind: short name of the check.
        where: log or channel.
        message: what was found.
    """

    severity: Severity
    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def clock_order(log: Log) -> list[LogFinding]:
    """At least two frames, and no stamp earlier than the one before."""
    if len(log) < 2:
        return [LogFinding("dropped", "short", log.name, f"has {len(log)} frames; a replay needs 2 or more")]
    backward = estimate_clock(log.time_s).backward
    if not backward:
        return []
    return [LogFinding("dropped", "time", log.name, f"its time runs backwards in {backward} places")]


def clock_rate(bench: Bench, log: Log) -> list[LogFinding]:
    """Duration, gaps, jitter, and the rate where the bench file declares one.

    Measured values are interpolated onto an even grid, so an uneven clock is only noted.
    """
    if len(log) < MIN_FRAMES or log.time_s[-1] - log.time_s[0] < MIN_DURATION_S:
        message = f"has {len(log)} frames; a fit needs {MIN_FRAMES} frames and {MIN_DURATION_S:g} s"
        return [LogFinding("dropped", "short", log.name, message)]
    if problems := clock_order(log):
        return problems
    findings = []
    clock, grid_hz = estimate_clock(log.time_s), bench.logs.rate_hz
    rates = f"{clock.rate_hz:.4g} frames a second on average, {clock.typical_hz:.4g} by the median step"
    if bench.logs.rate_declared and not clock.agrees_with(grid_hz, RATE_TOLERANCE):
        message = (
            f"has {rates}; the bench file declares {grid_hz:g} (logs.rate_hz). Correct it, or leave it out: then the "
            "rate is estimated"
        )
        findings.append(LogFinding("refused", "rate", log.name, message))
    elif abs(clock.rate_hz / clock.typical_hz - 1) > RATE_NOTE or not clock.agrees_with(grid_hz, RATE_NOTE):
        message = f"has {rates}; it is resampled onto an even grid of {grid_hz:.6g} Hz"
        findings.append(LogFinding("note", "rate", log.name, message))
    if clock.repeated:
        message = f"{clock.repeated} frames have the stamp of the frame before; they are spread up to the next stamp"
        findings.append(LogFinding("note", "rate", log.name, message))
    if clock.gaps:
        steps = np.diff(log.time_s)
        missing = clock.gap_s / float(log.time_s[-1] - log.time_s[0])
        longest = max(clock.gaps, key=lambda frame: steps[frame])
        message = (
            f"{len(clock.gaps)} gaps, {100 * missing:.1f} % of its time; the longest is {steps[longest]:.3g} s "
            f"at {log.time_s[longest] - log.time_s[0]:.3g} s"
        )
        findings.append(LogFinding("dropped" if missing > MAX_MISSING else "warning", "gap", log.name, message))
    if clock.jitter_s * clock.typical_hz > JITTER_NOTE:
        message = f"frames come {1000 * clock.jitter_s:.2g} ms early or late"
        findings.append(LogFinding("note", "jitter", log.name, message))
    return findings


def channel_without_numbers(bench: Bench, track: Track) -> list[LogFinding]:
    rows = track.commands | {channel.name: track.measured[channel.name] for channel in bench.compared}
    return [
        LogFinding("dropped", "gap", f"{track.log.name}: {name}", "holds no number at all")
        for name, values in rows.items()
        if not np.isfinite(values).all(axis=1).any()
    ]


def missing_values(bench: Bench, track: Track) -> list[LogFinding]:
    if findings := channel_without_numbers(bench, track):
        return findings
    for channel in bench.compared:
        missing = 1 - float(np.isfinite(track.measured[channel.name]).all(axis=1).mean())
        if missing > 0:
            severity: Severity = "dropped" if missing > MAX_MISSING else "warning"
            where = f"{track.log.name}: {channel.name}"
            findings.append(LogFinding(severity, "gap", where, f"{100 * missing:.1f} % missing"))
    return findings


def joint_range(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """Positions outside the joint's range, and quaternions without unit length."""
    findings = []
    for channel in (*bench.measured, *bench.commanded):
        if channel.of not in ("position", "turn") or not channel.joint:
            continue
        rows = np.concatenate([(track.measured | track.commands)[channel.name] for track in tracks])
        rows = rows[np.isfinite(rows).all(axis=1)]
        if channel.of == "turn":
            norm = np.linalg.norm(rows, axis=1)
            if (np.abs(norm - 1) > 0.05).any():
                message = f"is no unit quaternion: its length goes from {norm.min():.3g} to {norm.max():.3g}"
                findings.append(LogFinding("refused", "unit", channel.name, message))
            continue
        joint = bench.model.joint(channel.joint)
        hinge = bench.model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_HINGE
        low, high = bench.model.jnt_range[joint.id]
        if low == high:
            low, high = (-2 * np.pi, 2 * np.pi) if hinge else (-np.inf, np.inf)
        margin = 0.35 * (high - low)
        lowest, highest = float(rows.min()), float(rows.max())
        if lowest < low - margin or highest > high + margin:
            message = (
                f"goes from {lowest:.4g} to {highest:.4g} in the model's unit; joint {channel.joint} has {low:.4g} to "
                f"{high:.4g}. Wrong unit?{' Degrees for radians?' if hinge else ''}"
            )
            findings.append(LogFinding("refused", "unit", channel.name, message))
    return findings


def _factor(ratio: float) -> str:
    """The confusion of units that a factor looks like.

    A soft servo moves a tenth of its command, so a smaller ratio still counts as the factor.
    """
    for name, factor in FACTORS.items():
        if 0.1 < ratio / factor < 1.6:
            return name
    return ""


def clipping(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """A position that often reaches exactly the same extreme value at full speed and stops there is clipped."""
    findings = []
    for channel in bench.compared:
        if channel.of != "position":
            continue
        logs = [track.measured[channel.name][:, 0] for track in tracks]
        values = np.concatenate(logs)
        swing = float(np.nanmax(values) - np.nanmin(values))
        if swing <= 0:
            message = f"never changes: it is {values[0]:.4g} throughout"
            findings.append(LogFinding("refused", "dead", channel.name, message))
            continue
        speed = float(np.sqrt(np.nanmean(np.concatenate([np.diff(rows) for rows in logs]) ** 2)))
        for name, edge in (("upper", np.nanmax(values)), ("lower", np.nanmin(values))):
            entries, frames = 0, 0
            for rows in logs:
                at_edge = np.abs(rows - edge) < 1e-9 * max(swing, 1e-9)
                for begin in np.flatnonzero(at_edge[1:] & ~at_edge[:-1]) + 1:
                    length = int(np.argmin(np.append(at_edge[begin:], False)))
                    # The frame before was at full speed, and the one after stands still.
                    if length >= 4 and begin >= 2 and abs(rows[begin - 1] - rows[begin - 2]) > 0.5 * speed:
                        entries, frames = entries + 1, frames + length
            if entries >= 3 and frames > 0.01 * len(values):
                end = f"{(edge - channel.offset) / channel.scale:.4g} {channel.unit}"
                message = (
                    f"reaches its {name} end {end} at full speed {entries} times and stops there: clipped "
                    f"({100 * frames / len(values):.0f} % of its frames)"
                )
                findings.append(LogFinding("refused", "clipped", channel.name, message))
    return findings


def velocity_signs(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """A logged velocity is the derivative of the logged position, in sign and unit."""
    findings = []
    for channel in bench.measured:
        position = next((c for c in bench.measured if c.joint == channel.joint and c.of == "position"), None)
        if channel.of != "velocity" or position is None:
            continue
        logged, derived = [], []
        for track in tracks:
            rows = track.measured[position.name][:, 0]
            derived.append((rows[4:] - rows[:-4]) * bench.logs.rate_hz / 4)
            logged.append(track.measured[channel.name][2:-2, 0])
        if not any(np.isfinite(rows).any() for rows in logged):
            message = "is not logged: recordings are taken to begin at rest"
            findings.append(LogFinding("warning", "speed", channel.name, message))
            continue
        slope, correlation, _ = fit_line(np.concatenate(derived), np.concatenate(logged))
        if abs(correlation) < 0.5:
            message = f"is not the derivative of {position.name}"
            findings.append(LogFinding("warning", "speed", channel.name, message))
        elif slope < 0:
            message = f"has the opposite sign of the derivative of {position.name}"
            findings.append(LogFinding("refused", "sign", channel.name, message))
        elif not 1 / 3 < slope < 3:
            hint = f" ({_factor(slope)})" if _factor(slope) else ""
            message = f"is {slope:.3g} times the derivative of {position.name}: wrong unit?{hint}"
            findings.append(LogFinding("refused", "unit", channel.name, message))
    return findings


def following(bench: Bench, tracks: list[Track]) -> tuple[list[LogFinding], dict[str, float]]:
    """How each measured joint follows its own command, and whether it follows that of another joint instead.

    Returns:
        The findings, and channel -> delay in seconds.
    """
    goals = {c.joint: c for c in bench.commanded if c.joint and c.of == "position"}
    measured = [c for c in bench.compared if c.of == "position" and c.joint in goals]
    findings: list[LogFinding] = []
    delays: dict[str, float] = {}
    pairs = {(m.joint, g): _follow(bench, tracks, m, goals[g]) for m in measured for g in goals}
    for channel in measured:
        own = pairs[channel.joint, channel.joint]
        swing = max(float(np.ptp(track.commands[goals[channel.joint].name])) for track in tracks)
        if swing < 0.01 * _span(bench, channel):
            message = (
                f"its command moves by {swing / abs(channel.scale):.3g} {channel.unit} only: too little to learn from"
            )
            findings.append(LogFinding("warning", "excitation", channel.name, message))
            continue
        others = {g: pairs[channel.joint, g].correlation for g in goals if g != channel.joint}
        rival = max(others, key=lambda g: others[g]) if others else ""
        if rival and others[rival] > 0.7 and others[rival] > abs(own.correlation) + 0.05:
            back = pairs[rival, channel.joint].correlation if any(m.joint == rival for m in measured) else 0.0
            message = f"follows the command of {rival} ({others[rival]:.2f}), not its own ({own.correlation:.2f})"
            message += f", and {rival} that of {channel.joint}: swapped" if back > 0.5 else ": swapped columns?"
            findings.append(LogFinding("refused", "swapped", channel.name, message))
        elif own.correlation < -0.3:
            message = "moves against its command: wrong sign of one of the two"
            findings.append(LogFinding("refused", "sign", channel.name, message))
        elif own.correlation > 0.6 and not 0.08 < own.gain < 4:
            hint = f" ({_factor(own.gain)})" if _factor(own.gain) else ""
            message = f"moves {own.gain:.3g} times as far as commanded: wrong unit of one of the two?{hint}"
            findings.append(LogFinding("refused", "unit", channel.name, message))
        elif own.correlation < 0.3:
            message = f"hardly follows its command (correlation {own.correlation:.2f})"
            findings.append(LogFinding("warning", "following", channel.name, message))
        else:
            delays[channel.name] = delay_s = own.rows / bench.logs.rate_hz
            message = f"follows its command {1000 * delay_s:.0f} ms later"
            findings.append(LogFinding("note", "delay", channel.name, message))
            if delay_s < -max(1 / bench.logs.rate_hz, MIN_LEAD_S):
                message = "moves before it is commanded: clocks out of step?"
                findings.append(LogFinding("refused", "time", channel.name, message))
    return findings, delays


def _span(bench: Bench, channel: ChannelMap) -> float:
    low, high = bench.model.jnt_range[bench.model.joint(channel.joint).id]
    return float(high - low) or 2 * np.pi


def _follow(bench: Bench, tracks: list[Track], measured: ChannelMap, goal: ChannelMap) -> DelayEstimate:
    """A measured channel against a command, at the delay with the highest correlation, while the motors are on."""
    longest = max(1, int(MAX_DELAY_S * bench.logs.rate_hz))
    shifts = np.unique(np.linspace(-longest // 4, longest, DELAYS_TRIED).astype(int)).tolist()
    pairs = [
        (track.commands[goal.name][:, 0], np.where(track.enabled > 0.5, track.measured[measured.name][:, 0], np.nan))
        for track in tracks
        if track.frames > 2 * longest + 4
    ]
    return estimate_delay(pairs, shifts=shifts, fit_gain=True) or DelayEstimate(0.0, 0.0, 0.0, np.nan)


def effort_signs(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """Torques and currents against what the model needs for the logged motion: a wrong sign or unit shows.

    Friction is not part of it, so only large differences are findings. Skipped where the position of a joint is not
    logged.
    """
    channels = [channel for channel in (*bench.measured, *bench.commanded) if channel.of in QUANTITIES]
    positions = [
        next((c for c in bench.measured if c.joint == bench.model.joint(joint).name and c.of == "position"), None)
        for joint in range(bench.model.njnt)
    ]
    if not channels or bench.model.nq != bench.model.njnt or any(channel is None for channel in positions):
        return []
    needed = [_needed_nm(bench, track, [c.name for c in positions if c is not None]) for track in tracks]
    findings = []
    for channel in channels:
        dof = int(bench.model.joint(channel.joint).dofadr[0])
        effort = channel.effort
        assert effort is not None
        per_unit = bench.knobs[effort.constant].value * effort.gear_ratio if effort.constant else 1.0
        logged = [
            (track.measured | track.commands)[channel.name][frames, 0] * per_unit
            for track, (frames, _) in zip(tracks, needed, strict=True)
        ]
        slope, correlation, _ = fit_line(
            np.concatenate([torque[:, dof] for _, torque in needed]), np.concatenate(logged)
        )
        if correlation < -0.5:
            message = f"has the opposite sign of the torque that the model needs for this motion ({correlation:.2f})"
            findings.append(LogFinding("refused", "sign", channel.name, message))
        elif correlation > 0.7 and not 0.05 < slope < 20 and channel.of == "torque":
            hint = f" ({_factor(slope)})" if _factor(slope) else ""
            message = f"is {slope:.3g} times the torque that the model needs for this motion: wrong unit?{hint}"
            findings.append(LogFinding("refused", "unit", channel.name, message))
    return findings


def _needed_nm(bench: Bench, track: Track, positions: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(frames, (frames, dofs) torque) of inverse dynamics along the logged positions."""
    stride = max(1, round(bench.logs.rate_hz / EFFORT_HZ))
    frames = np.arange(0, track.frames, stride)
    q = np.concatenate([track.measured[name] for name in positions], axis=1)[frames]
    if len(frames) < 3:
        return frames, np.full((len(frames), bench.model.nv), np.nan)
    period_s = stride / bench.logs.rate_hz
    v = np.gradient(q, period_s, axis=0)
    a = np.gradient(v, period_s, axis=0)
    model = copy(bench.model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data, torques = mujoco.MjData(model), np.full(q.shape, np.nan)
    for row in np.flatnonzero(np.isfinite(a).all(axis=1)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[row], v[row], a[row]
        mujoco.mj_inverse(model, data)
        torques[row] = data.qfrc_inverse
    return frames, torques
