"""First look at the logs: is what they say possible at all? Done before anything is simulated or optimised.

A wrong unit, a turned sign, two swapped joints or a clipped column can be fitted, and the fit looks fine on its own
logs. They all show in how a measured channel follows its command.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.logs import Log
from twinloop.calibrate.track import Track, track_of
from twinloop.errors import DatasetError

Severity = Literal["refused", "dropped", "warning", "note"]

SHORTEST_S, SHORTEST_FRAMES = 0.5, 10
RATE_TOLERANCE = 0.05
GAP_PERIODS = 3
MOST_MISSING = 0.2
LONGEST_DELAY_S = 0.5
FACTORS = {"degrees for radians": 180 / np.pi, "radians for degrees": np.pi / 180, "thousandths for units": 1000.0,
           "units for thousandths": 1e-3}  # fmt: skip


@dataclass(frozen=True)
class LogFinding:
    """severity: `refused` stops a fit, `dropped` leaves a log out, the others are told."""

    severity: Severity
    kind: str
    where: str
    said: str

    def __str__(self) -> str:
        return f"{self.where}: {self.said}"


@dataclass(frozen=True)
class Checked:
    """The logs that can be used, what was found, and how late each measured channel follows its command."""

    logs: tuple[Log, ...]
    findings: tuple[LogFinding, ...]
    delay_s: dict[str, float] = field(default_factory=dict)

    def refuse(self) -> None:
        """Raise for what no fit should be built on."""
        bad = [finding for finding in self.findings if finding.severity == "refused"]
        if bad:
            told = "\n  ".join(str(finding) for finding in bad)
            raise DatasetError(
                f"these logs cannot be fitted:\n  {told}\nCorrect the logs, or the columns, scales and signs in the "
                "bench file. `--anyway` fits them all the same."
            )
        if not self.logs:
            told = "\n  ".join(str(finding) for finding in self.findings)
            raise DatasetError(f"no log is left to fit:\n  {told}")


def playable(bench: Bench, logs: Sequence[Log]) -> Checked:
    """The logs that a replay can play, whatever else may be said of them."""
    kept, findings = [], []
    for log in logs:
        found = _of_clock(log) or _of_nothing(bench, track_of(bench, log))
        findings += found
        if not found:
            kept.append(log)
    if not kept:
        told = "\n  ".join(str(finding) for finding in findings)
        raise DatasetError(f"no log can be played:\n  {told}" if told else "there is no log to play")
    return Checked(tuple(kept), tuple(findings))


def check(bench: Bench, logs: Sequence[Log]) -> Checked:
    findings: list[LogFinding] = []
    kept, tracks = [], []
    for log in logs:
        found = _of_time(bench, log)
        findings += found
        if any(finding.severity == "dropped" for finding in found):
            continue
        track = track_of(bench, log)
        found = _of_values(bench, track)
        findings += found
        if any(finding.severity == "dropped" for finding in found):
            continue
        kept.append(log)
        tracks.append(track)
    delays: dict[str, float] = {}
    if tracks:
        findings += _of_range(bench, tracks)
        findings += _of_clipping(bench, tracks)
        findings += _of_speeds(bench, tracks)
        following, delays = _of_following(bench, tracks)
        findings += following
    return Checked(tuple(kept), tuple(findings), delays)


def _of_time(bench: Bench, log: Log) -> list[LogFinding]:
    period_s, found = 1 / bench.logs.rate_hz, []
    if len(log) < SHORTEST_FRAMES or log.time_s[-1] - log.time_s[0] < SHORTEST_S:
        return [LogFinding("dropped", "short", log.name, f"has {len(log)} frames; nothing can be learnt from so few")]
    if wrong := _of_clock(log):
        return wrong
    steps = np.diff(log.time_s)
    typical = float(np.median(steps))
    if abs(typical / period_s - 1) > RATE_TOLERANCE:
        said = f"has {1 / typical:.4g} frames a second; the bench file says {bench.logs.rate_hz:g} (logs.rate_hz)"
        found.append(LogFinding("refused", "rate", log.name, said))
    gaps = np.flatnonzero(steps > GAP_PERIODS * typical)
    if len(gaps):
        lost = float((steps[gaps] - typical).sum() / (log.time_s[-1] - log.time_s[0]))
        worst = int(gaps[np.argmax(steps[gaps])])
        said = (
            f"{len(gaps)} gaps, {100 * lost:.1f} % of its time; the longest is {steps[worst]:.3g} s "
            f"at {log.time_s[worst] - log.time_s[0]:.3g} s"
        )
        found.append(LogFinding("dropped" if lost > MOST_MISSING else "warning", "gap", log.name, said))
    jitter = float(np.std(np.delete(steps, gaps)))
    if jitter > 0.1 * typical:
        found.append(LogFinding("note", "jitter", log.name, f"frames come {1000 * jitter:.2g} ms early or late"))
    return found


def _of_clock(log: Log) -> list[LogFinding]:
    if len(log) < 2:
        return [LogFinding("dropped", "short", log.name, f"has {len(log)} frames; nothing can be played of so few")]
    back = int((~(np.diff(log.time_s) > 0)).sum())
    return [LogFinding("dropped", "time", log.name, f"its time does not run forward in {back} places")] if back else []


def _of_nothing(bench: Bench, track: Track) -> list[LogFinding]:
    """A channel without a single number."""
    rows = track.commands | {channel.name: track.measured[channel.name] for channel in bench.compared}
    return [
        LogFinding("dropped", "gap", f"{track.log.name}: {name}", "holds no number at all")
        for name, each in rows.items()
        if not np.isfinite(each).all(axis=1).any()
    ]


def _of_values(bench: Bench, track: Track) -> list[LogFinding]:
    found = _of_nothing(bench, track)
    if found:
        return found
    for channel in bench.compared:
        missing = 1 - float(np.isfinite(track.measured[channel.name]).all(axis=1).mean())
        if missing > 0:
            severity: Severity = "dropped" if missing > MOST_MISSING else "warning"
            found.append(
                LogFinding(severity, "gap", f"{track.log.name}: {channel.name}", f"{100 * missing:.1f} % missing")
            )
    return found


def _of_range(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """Values that the joint cannot have."""
    found = []
    for channel in (*bench.measured, *bench.commanded):
        if channel.of not in ("position", "turn") or not channel.joint:
            continue
        rows = np.concatenate([(track.measured | track.commands)[channel.name] for track in tracks])
        rows = rows[np.isfinite(rows).all(axis=1)]
        if channel.of == "turn":
            norm = np.linalg.norm(rows, axis=1)
            if (np.abs(norm - 1) > 0.05).any():
                said = f"is no unit quaternion: its length goes from {norm.min():.3g} to {norm.max():.3g}"
                found.append(LogFinding("refused", "unit", channel.name, said))
            continue
        joint = bench.model.joint(channel.joint)
        hinge = bench.model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_HINGE
        low, high = bench.model.jnt_range[joint.id]
        if low == high:
            low, high = (-2 * np.pi, 2 * np.pi) if hinge else (-np.inf, np.inf)
        room = 0.35 * (high - low)
        least, most = float(rows.min()), float(rows.max())
        if least < low - room or most > high + room:
            said = (
                f"goes from {least:.4g} to {most:.4g} in the model's unit; joint {channel.joint} has {low:.4g} to "
                f"{high:.4g}. Wrong unit?{' Degrees for radians?' if hinge else ''}"
            )
            found.append(LogFinding("refused", "unit", channel.name, said))
    return found


def _factor(ratio: float) -> str:
    """What a factor looks like. A soft servo goes a tenth of its way, so one below the factor is still it."""
    for name, factor in FACTORS.items():
        if 0.1 < ratio / factor < 1.6:
            return name
    return ""


def _of_clipping(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """A column that keeps running into exactly the same number, and stops there dead, is cut off."""
    found = []
    for channel in bench.compared:
        if channel.of != "position":
            continue
        rows = [track.measured[channel.name][:, 0] for track in tracks]
        everything = np.concatenate(rows)
        swing = float(np.nanmax(everything) - np.nanmin(everything))
        if swing <= 0:
            found.append(
                LogFinding("refused", "dead", channel.name, f"never changes: it is {everything[0]:.4g} throughout")
            )
            continue
        speed = float(np.sqrt(np.nanmean(np.concatenate([np.diff(row) for row in rows]) ** 2)))
        for name, edge in (("upper", np.nanmax(everything)), ("lower", np.nanmin(everything))):
            entries, frames = 0, 0
            for row in rows:
                at = np.abs(row - edge) < 1e-9 * max(swing, 1e-9)
                begins = np.flatnonzero(at[1:] & ~at[:-1]) + 1
                for begin in begins:
                    length = int(np.argmin(np.append(at[begin:], False)))
                    # The frame before was at full speed, and the one after stands still.
                    if length >= 4 and begin >= 2 and abs(row[begin - 1] - row[begin - 2]) > 0.5 * speed:
                        entries, frames = entries + 1, frames + length
            if entries >= 3 and frames > 0.01 * len(everything):
                end = f"{(edge - channel.offset) / channel.scale:.4g} {channel.unit}"
                said = (
                    f"runs into its {name} end {end} {entries} times and stops dead: clipped "
                    f"({100 * frames / len(everything):.0f} % of its frames)"
                )
                found.append(LogFinding("refused", "clipped", channel.name, said))
    return found


def _of_speeds(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """A logged velocity is the derivative of the logged position, in sign and in unit."""
    found = []
    for speed in bench.measured:
        partner = next((c for c in bench.measured if c.joint == speed.joint and c.of == "position"), None)
        if speed.of != "velocity" or partner is None:
            continue
        told, made = [], []
        for track in tracks:
            rows = track.measured[partner.name][:, 0]
            made.append((rows[4:] - rows[:-4]) * bench.logs.rate_hz / 4)
            told.append(track.measured[speed.name][2:-2, 0])
        if not any(np.isfinite(rows).any() for rows in told):
            said = "is not logged: recordings begin at rest"
            found.append(LogFinding("warning", "speed", speed.name, said))
            continue
        slope, likeness, _ = _fit_line(np.concatenate(made), np.concatenate(told))
        if abs(likeness) < 0.5:
            found.append(LogFinding("warning", "speed", speed.name, f"is not the derivative of {partner.name}"))
        elif slope < 0:
            found.append(
                LogFinding("refused", "sign", speed.name, f"has the opposite sign of the derivative of {partner.name}")
            )
        elif not 1 / 3 < slope < 3:
            hint = _factor(slope)
            said = f"is {slope:.3g} times the derivative of {partner.name}: wrong unit?{f' ({hint})' if hint else ''}"
            found.append(LogFinding("refused", "unit", speed.name, said))
    return found


def _of_following(bench: Bench, tracks: list[Track]) -> tuple[list[LogFinding], dict[str, float]]:
    """How each measured joint follows its own command, and whether it rather follows another's."""
    goals = {c.joint: c for c in bench.commanded if c.joint and c.of == "position"}
    measured = [c for c in bench.compared if c.of == "position" and c.joint in goals]
    found: list[LogFinding] = []
    delays: dict[str, float] = {}
    likeness = {(m.joint, g): _follow(bench, tracks, m, goals[g]) for m in measured for g in goals}
    for channel in measured:
        slope, own, delay_s = likeness[channel.joint, channel.joint]
        swing = max(float(np.ptp(track.commands[goals[channel.joint].name])) for track in tracks)
        span = _span(bench, channel)
        if swing < 0.01 * span:
            said = (
                f"its command moves by {swing / abs(channel.scale):.3g} {channel.unit} only: little can be learnt of it"
            )
            found.append(LogFinding("warning", "excitation", channel.name, said))
            continue
        others = {g: likeness[channel.joint, g][1] for g in goals if g != channel.joint}
        rival = max(others, key=lambda g: others[g]) if others else ""
        if rival and others[rival] > 0.7 and others[rival] > abs(own) + 0.05:
            back = likeness[rival, channel.joint][1] if any(m.joint == rival for m in measured) else 0.0
            said = f"follows the command of {rival} ({others[rival]:.2f}), not its own ({own:.2f})"
            said += f", and {rival} that of {channel.joint}: swapped" if back > 0.5 else ": swapped columns?"
            found.append(LogFinding("refused", "swapped", channel.name, said))
            continue
        if own < -0.3:
            found.append(
                LogFinding("refused", "sign", channel.name, "moves against its command: wrong sign of one of the two")
            )
            continue
        if own > 0.6 and not 0.08 < slope < 4:
            hint = _factor(slope)
            guess = f" ({hint})" if hint else ""
            said = f"moves {slope:.3g} times as far as commanded: wrong unit of one of the two?{guess}"
            found.append(LogFinding("refused", "unit", channel.name, said))
            continue
        if own < 0.3:
            found.append(
                LogFinding("warning", "following", channel.name, f"hardly follows its command (correlation {own:.2f})")
            )
            continue
        delays[channel.name] = delay_s
        found.append(LogFinding("note", "delay", channel.name, f"follows its command {1000 * delay_s:.0f} ms later"))
        if delay_s < 0:
            found.append(
                LogFinding("refused", "time", channel.name, "moves before it is commanded: clocks out of step?")
            )
    return found, delays


def _span(bench: Bench, channel: ChannelMap) -> float:
    low, high = bench.model.jnt_range[bench.model.joint(channel.joint).id]
    return float(high - low) or 2 * np.pi


def _follow(bench: Bench, tracks: list[Track], measured: ChannelMap, goal: ChannelMap) -> tuple[float, float, float]:
    """Slope, correlation and delay of a measured channel against a command, at the delay that fits best."""
    longest = max(1, int(LONGEST_DELAY_S * bench.logs.rate_hz))
    shifts = np.unique(np.linspace(-longest // 4, longest, 26).astype(int))
    best = (0.0, 0.0, 0.0)
    for shift in shifts:
        told, seen = [], []
        for track in tracks:
            command, rows = track.commands[goal.name][:, 0], track.measured[measured.name][:, 0]
            if len(rows) <= 2 * longest + 4:
                continue
            at = np.arange(longest, len(rows) - longest)
            powered = track.enabled[at] > 0.5
            told.append(np.where(powered, command[at - shift], np.nan))
            seen.append(np.where(powered, rows[at], np.nan))
        if not told:
            return best
        slope, likeness, _ = _fit_line(np.concatenate(told), np.concatenate(seen))
        if abs(likeness) > abs(best[1]) + 1e-6:
            best = (slope, likeness, shift / bench.logs.rate_hz)
    return best


def _fit_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Slope, correlation and intercept of y over x, where both are known."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 3 or x.std() < 1e-12 or y.std() < 1e-12:
        return 0.0, 0.0, 0.0
    likeness = float(np.corrcoef(x, y)[0, 1])
    slope = likeness * float(y.std() / x.std())
    return slope, likeness, float(y.mean() - slope * x.mean())
