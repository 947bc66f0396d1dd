"""Do logged torques and currents have the sign and unit of what the model needs for the logged motion?"""

from copy import copy

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.bench_file import EFFORT_UNITS
from twinloop.calibrate.log_finding import LogFinding
from twinloop.calibrate.track import Track
from twinloop.curate.quality import confusion
from twinloop.signals.delay import fit_line

EFFORT_HZ = 50.0
"""Rate at which accelerations are computed: noise is too large at high rates."""


def effort_signs(bench: Bench, tracks: list[Track]) -> list[LogFinding]:
    """Torques and currents against what the model needs for the logged motion: a wrong sign or unit shows.

    Friction is not part of it, so only large differences are findings. Skipped where the position of a joint is not
    logged.
    """
    channels = [channel for channel in (*bench.measured, *bench.commanded) if channel.of in EFFORT_UNITS]
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
        per_unit = bench.variables[effort.constant].value * effort.gear_ratio if effort.constant else 1.0
        logged = [
            (track.measured | track.commands)[channel.name][frames, 0] * per_unit
            for track, (frames, _) in zip(tracks, needed, strict=True)
        ]
        slope, correlation, _ = fit_line(
            np.concatenate([torque[:, dof] for _, torque in needed]), np.concatenate(logged)
        )
        if correlation < -0.5:
            message = f"has the opposite sign of the torque that the model needs for this motion ({correlation:.2f})"
            findings.append(LogFinding("refused", "sign_flip", channel.name, message))
        elif correlation > 0.7 and not 0.05 < slope < 20 and channel.of == "torque":
            hint = f" ({confusion(slope)})" if confusion(slope) else ""
            message = f"is {slope:.3g} times the torque that the model needs for this motion: wrong unit?{hint}"
            findings.append(LogFinding("refused", "unit_confusion", channel.name, message))
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
