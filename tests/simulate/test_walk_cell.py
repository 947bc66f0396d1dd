"""Legged robots in the engine: the nominal pose holds, and every row of the table has an effect."""

import numpy as np
import pytest

from twinloop.observe.walk_sensors import WalkSensors
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.simulate.drive import Drive
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import make_terrain
from twinloop.twin.legs.walk_twin import WalkTwin, assemble_walk

ROWS = [row for row in TABLE if "legs" in row.robots]


@pytest.fixture(scope="module")
def twin() -> WalkTwin:
    return assemble_walk(QUADRUPED, make_terrain("flat"), longest_delay_s=0.2)


def march(twin: WalkTwin, draws: Draws, *, seconds: float = 1.0, lift_rad: float = 0.3) -> dict[str, np.ndarray]:
    """The episodes of `draws` with legs that are lifted in turn: name -> (ticks, n, ...)."""
    n = len(draws.attempts)
    cell, ids = WalkCell(twin, width=n), np.arange(n)
    sensors, drive = WalkSensors(twin, width=n, seed=0), Drive(cell, seed=0)  # pyright: ignore
    cell.admit(ids, draws, ids, seed=0)
    sensors.begin(ids, draws, ids)
    drive.begin(ids, draws, ids)
    tape: dict[str, list[np.ndarray]] = {"height": [], "position": [], "sensed": [], "velocity": []}
    for tick in range(round(seconds * twin.control_hz)):
        target = np.tile(QUADRUPED.home_rad, (n, 1))
        wave = lift_rad * np.sin(2 * np.pi * tick / 20)
        target[:, [1, 2, 10, 11] if wave > 0 else [4, 5, 7, 8]] += np.abs(wave) * np.array([1, -2, 1, -2])
        cell.step(None, drive.carry(target))
        tape["height"].append(cell.height_m.copy())
        tape["position"].append(cell.base_position.copy())
        tape["velocity"].append(cell.velocity_m_s.copy())
        tape["sensed"].append(np.concatenate(list(sensors.look(cell).values()), axis=1))
    return {name: np.array(values) for name, values in tape.items()}


def drawn(count: int = 1, **values: float) -> Draws:
    return Sampler({name: Constant(value) for name, value in values.items()}, seed=0).draw(0, count)


def test_the_nominal_pose_holds(twin: WalkTwin):
    tape = march(twin, drawn(), seconds=3.0, lift_rad=0.0)
    assert tape["height"].min() > 0.8 * QUADRUPED.home_height_m
    assert np.abs(tape["position"][-1, 0, :2]).max() < 0.1
    assert np.abs(tape["velocity"][-1]).max() < 0.02


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_of_legged_robots_changes_what_they_do_or_sense(twin: WalkTwin, row: Parameter):
    ground = assemble_walk(QUADRUPED, make_terrain("stepped")) if row.lays_out else twin
    needs = {row.needs: BY_NAME[row.needs].sensible[1]} if row.needs else {}
    if row.beside:
        needs |= {name.partition(".")[0]: 1.0 for name in row.beside if "." not in name}
    # Pushes come early enough to be seen, a walk of biases is in units of the noise, and heat limits weak motors.
    needs |= {"gyro_noise_mrad_s": 2.0} if row.name == "imu_walk_per_s" else {}
    needs |= {"motor_strength_scale": 0.3} if row.name == "heat_fade_share" else {}
    needs |= {"push_interval_s": 0.4} if row.name == "push_speed_m_s" else {}
    ends = {"push_interval_s": (0.3, 0.6), "motor_strength_scale": (0.2, 1.0)}.get(row.name, row.sensible)
    low, high = (march(ground, drawn(1, **(needs | {row.name: end}))) for end in ends)
    assert any(not np.array_equal(low[name], high[name]) for name in low)


def test_a_push_adds_its_speed(twin: WalkTwin):
    tape = march(twin, drawn(8, push_speed_m_s=0.5, push_interval_s=1.0), seconds=1.2, lift_rad=0.0)
    change = np.linalg.norm(np.diff(tape["velocity"][:, :, :2], axis=0), axis=2)
    assert (change.max(axis=0) > 0.2).all()  # the legs take up a part of it in the same control period
    directions = tape["velocity"][change.argmax(axis=0) + 1, np.arange(8), :2]
    assert len(np.unique(np.sign(directions), axis=0)) > 1


def test_a_payload_adds_mass_and_lowers_the_base(twin: WalkTwin):
    cell, ids = WalkCell(twin, width=2), np.arange(2)
    draws = Sampler({"payload_kg": Uniform(0.0, 3.0), "payload_shift_cm": Constant(4.0)}, seed=0).draw(0, 2)
    for _ in range(2):  # a slot that is used again does not drift
        cell.admit(ids, draws, ids, seed=0)
    np.testing.assert_allclose(
        cell["body_mass"].sum(axis=1), twin.model.body_mass.sum() + draws.values["payload_kg"], rtol=1e-9
    )
    light, heavy = (march(twin, drawn(payload_kg=mass), lift_rad=0.0)["height"][-1] for mass in (0.0, 3.0))
    assert heavy < light - 0.003


def test_a_robot_slides_further_on_slippery_ground(twin: WalkTwin):
    moved = []
    for friction in (0.05, 1.0):
        draws = drawn(ground_friction_coefficient=friction, gravity_tilt_deg=8.0)
        moved.append(np.linalg.norm(march(twin, draws, lift_rad=0.0)["position"][-1, 0, :2]))
    assert moved[0] > 3 * moved[1]


def test_an_episode_does_not_depend_on_slot_or_width(twin: WalkTwin):
    rows = {"push_speed_m_s", "payload_kg", "encoder_noise_mrad", "control_noise_mrad", "observation_delay_ms"}
    sampler = Sampler({name: Uniform(*BY_NAME[name].sensible) for name in rows}, seed=5)
    together = march(twin, sampler.draw(0, 6))
    alone = march(twin, sampler.draw(4, 5))
    for name, values in together.items():
        np.testing.assert_array_equal(values[:, 4], alone[name][:, 0], err_msg=name)


def test_a_rougher_level_starts_on_its_own_patch():
    twin = assemble_walk(QUADRUPED, make_terrain("stepped"))
    cell, ids = WalkCell(twin, width=2), np.arange(2)
    draws = Sampler({"terrain_level_share": Constant(0.0)}, seed=0).draw(0, 2)
    values = {**draws.values, "terrain_level_share": np.array([0.0, 1.0])}
    cell.admit(ids, Draws(draws.attempts, values, draws.varied), ids, seed=0)
    starts = twin.terrain.starts_m
    assert (cell.start_xy_m[0, 0], cell.start_xy_m[1, 0]) == (starts[0, 0, 0], starts[-1, 0, 0])
    np.testing.assert_allclose(cell.height_m, QUADRUPED.home_height_m, atol=0.01)


def test_pushes_end_with_their_episode(twin: WalkTwin):
    """A slot that had an episode with pushes has none in an episode of a block that does not vary them."""
    cell, ids = WalkCell(twin, width=1), np.arange(1)

    def path() -> np.ndarray:
        places = []
        for _ in range(twin.control_hz):
            cell.step(None, np.array([QUADRUPED.home_rad]))
            places.append(cell.base_position.copy())
        return np.array(places)

    cell.admit(ids, drawn(), ids, seed=0)
    calm = path()
    cell.admit(ids, drawn(push_speed_m_s=0.5, push_interval_s=0.2), ids, seed=0)
    assert not np.array_equal(path(), calm)
    cell.admit(ids, drawn(), ids, seed=0)
    np.testing.assert_array_equal(path(), calm)
