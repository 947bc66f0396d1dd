"""Any model with its own actuators: a payload and a joint's damping, from the torque that was commanded."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.bench import load_bench
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where

MODEL = """
<mujoco><worldbody><body name="arm"><joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3"
size=".02" mass="0.3"/><body name="payload" pos="0 0 -.3"><geom type="sphere" size=".03" mass="0.1"/></body></body>
</worldbody><actuator><motor name="motor" joint="swing"/></actuator></mujoco>
"""
BENCH = """
twin: {mjcf: arm.xml, timestep_ms: 5}
logs: {format: npz, files: "*.npz", rate_hz: 50}
measured:
  angle: {column: state, elements: [0], joint: swing, unit: rad}
commanded:
  torque: {column: state, elements: [1], actuator: motor, unit: N·m}
parameters:
  payload.mass_kg: {field: body_mass, of: payload, value: 0.1, low: 0.01, high: 1, unit: kg, log: true}
  swing.damping: {field: dof_damping, of: swing, value: 0.02, low: 0, high: 0.2, row: joint_damping_nms_rad}
fit: [payload.mass_kg, swing.damping]
"""
TRUTH = {"payload.mass_kg": 0.37, "swing.damping": 0.06}


@pytest.mark.slow
def test_payload_and_damping_are_found_from_commanded_torque(tmp_path: Path):
    (tmp_path / "arm.xml").write_text(MODEL)
    (tmp_path / "arm.yaml").write_text(BENCH)
    bench = load_bench(tmp_path / "arm.yaml")
    time_s = np.arange(150) / 50
    asked = [
        Log(f"sine_{hz}", time_s, {"state": np.column_stack([0 * time_s, 0.4 * np.sin(2 * np.pi * hz * time_s)])})
        for hz in (0.5, 1.1)
    ]
    angles = BenchSimulator(bench, asked, tuple(TRUTH), where=Where(1)).simulate(np.array([list(TRUTH.values())]))[
        "angle"
    ][0, :, :, 0]
    rng = np.random.default_rng(0)
    for log, angle in zip(asked, angles, strict=True):
        log.columns["state"][:, 0] = angle + rng.normal(0, 1e-3, 150)
    patch = calibrate(bench, check(bench, asked), bench.fit, seed=0, where=Where(1)).patch
    for name, value in TRUTH.items():
        assert patch.fitted[name].value == pytest.approx(value, rel=0.05)
    low, high = patch.ranges["joint_damping_nms_rad"]
    assert low < 0.06 * 1.05
    assert high > 0.06 * 0.95
