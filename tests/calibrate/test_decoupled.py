"""Joints simulated one by one move like joints simulated together."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import EXAMPLES, command, logs_of_truth, xl330
from tests.calibrate.servo_bench import servo_bench, simulated_log, swings
from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.loads import can_decouple
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where


def both(bench: Bench, logs: list[Log], values: dict[str, float]) -> list[dict[str, np.ndarray]]:
    sets = np.array([list(values.values()), [bench.variables[name].value for name in values]])
    return [
        BenchSimulator(bench, logs, tuple(values), where=Where(1), decoupled=decoupled).simulate(sets)
        for decoupled in (False, True)
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"stribeck_nm": 0.02, "lag_ms": 12.0, "delay_ms": 7.3},
        {"backlash_rad": 0.03, "encoder_bias_rad": 0.05, "coulomb_nm": 0.04},
        {"load_motor": 0.4, "load_outside": 0.0, "armature_kgm2": 0.004, "viscous_nms_rad": 0.02},
    ],
)
def test_a_single_joint_moves_the_same_alone(values: dict[str, float]):
    bench = xl330()
    named = {f"pendulum.{name}": value for name, value in values.items()}
    truth = {"pendulum.resistance_ohm": 2.0}
    asked = [command(0, 100, off_after_s=2.0), command(2, 400).select(slice(0, 400))]
    coupled, decoupled = both(bench, logs_of_truth(bench, truth, seed=1, asked=asked), named)
    np.testing.assert_allclose(decoupled["position"], coupled["position"], atol=1e-6)


def test_a_position_servo_at_its_limits_moves_the_same_alone(tmp_path: Path):
    bench = servo_bench(tmp_path, "torque_limit_nm: 0.3, no_load_speed_rad_s: 3, braking_nms_rad: 0.5", "delay_ms")
    log = simulated_log(bench, swings(4, 1.5, 4.0), {"swing.delay_ms": 30.0})
    coupled, decoupled = both(bench, [log], {"swing.stiffness_nm_rad": 8.0, "swing.held_rad": -0.4})
    np.testing.assert_allclose(decoupled["angle"], coupled["angle"], atol=1e-6)


def test_the_joints_of_an_arm_move_nearly_the_same_alone():
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    time_s = np.arange(150) / 30
    rates = np.array([1.1, 0.9, 1.4, 2.0, 1.7, 2.3])
    goal = 25 * np.sin(rates * time_s[:, None]) * np.minimum(time_s[:, None], 1)
    asked = Log("arm", time_s, {"action": goal, "observation.state": np.zeros_like(goal)})
    rows = BenchSimulator(bench, [asked], (), where=Where(1)).simulate(np.zeros((1, 0)))
    state = np.stack([(rows[c.name][0, 0, :, 0] - c.offset) / c.scale for c in bench.compared], axis=1)
    log = Log("arm", time_s, {"action": goal, "observation.state": state})
    coupled, decoupled = both(bench, [log], {"elbow_flex.stiffness_nm_rad": 10.0})
    for channel in bench.compared:
        # Own values, at which the log was made: the others move as in the coupled simulation.
        off = (decoupled[channel.name] - coupled[channel.name])[1, 0, :, 0]
        assert np.sqrt(np.mean(off**2)) < 0.003, channel.name
        assert np.ptp(coupled[channel.name][1, 0]) > 0.3


def test_joints_are_only_simulated_alone_where_that_holds(tmp_path: Path):
    bench = xl330()
    assert can_decouple(bench, ("pendulum.coulomb_nm",))
    (tmp_path / "thing.xml").write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1"><joint name="swing" '
        'axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/></body></worldbody></mujoco>'
    )
    lines = (EXAMPLES / "xl330_bench.yaml").read_text().replace("xl330_bench.xml", "thing.xml").splitlines()
    kept = [line for line in lines if not line.startswith(("constants:", "  mass:", "  length:"))]
    (tmp_path / "bench.yaml").write_text("\n".join(kept).replace("pendulum", "swing"))
    assert not can_decouple(load_bench(tmp_path / "bench.yaml"), ("swing.coulomb_nm",))
