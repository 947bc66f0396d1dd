"""Sensor errors change sensor values and not the true state. Each error has the size of its row, and 0 is off."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.observe.features import features_of, observe
from twinloop.observe.sensors import ObserveConfig, sense
from twinloop.randomize.distribution import Constant
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.sensing import SENSING
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin


def through(few: Episodes, **drawn: float) -> Episodes:
    """The same episodes, seen through other sensors."""
    draws = Sampler({name: Constant(value) for name, value in drawn.items()}, seed=0).draw(0, len(few.lengths))
    return replace(few, draws=draws)


def seen(few: Episodes, twin: Twin, config: ObserveConfig | None = None, /, **drawn: float) -> dict[str, np.ndarray]:
    return sense(through(few, **drawn), twin, config or ObserveConfig(), seed=0)


def test_perfect_sensors_give_the_true_values(few: Episodes, twin: Twin):
    for channel, values in seen(few, twin).items():
        np.testing.assert_array_equal(values, few[channel])
    for channel, values in seen(few, twin, encoder_noise_mrad=0.0).items():
        np.testing.assert_allclose(values, few[channel], atol=1e-6)


@pytest.fixture(scope="module")
def wrist_twin(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, twin.object, features=Features(wrist_sensors=True))


@pytest.fixture(scope="module")
def felt(simulate: Simulate, wrist_twin: Twin) -> Episodes:
    """Episodes with a force-torque sensor and an IMU at the hand."""
    return simulate(3, of=wrist_twin)


@pytest.fixture(scope="module")
def undisturbed(simulate: Simulate, wrist_twin: Twin) -> Episodes:
    return simulate(1, ranges={}, of=wrist_twin)


@pytest.mark.parametrize("row", SENSING, ids=lambda row: row.name)
def test_every_row_changes_sensor_values_only(
    simulate: Simulate, wrist_twin: Twin, felt: Episodes, undisturbed: Episodes, row: Parameter
):
    # A walk is of the noise, so there has to be some.
    besides = {"gyro_noise_mrad_s": 1.0} if row.name == "imu_walk_per_s" else {}
    plain = seen(felt, wrist_twin, **besides, encoder_noise_mrad=0.0)
    changed = seen(felt, wrist_twin, **besides, **{row.name: row.sensible[1]})
    assert any(not np.allclose(values, plain[channel], atol=1e-6) for channel, values in changed.items())
    disturbed = simulate(1, ranges={row.name: Constant(row.sensible[1])}, of=wrist_twin)
    np.testing.assert_array_equal(disturbed.tape, undisturbed.tape)


def test_encoder_noise_has_its_standard_deviation(few: Episodes, twin: Twin):
    error = seen(few, twin, encoder_noise_mrad=1.0)["position"] - few["position"]
    assert error[:, :7].std() == pytest.approx(1e-3, rel=0.05)
    assert (np.abs(error[:, 7]) < 1e-6).all()


def test_a_bias_stays_for_an_episode_and_is_another_in_the_next(few: Episodes, twin: Twin):
    error = seen(few, twin, encoder_bias_mrad=5.0)["position"] - few["position"]
    first, second = error[: few.lengths[0], :7], error[few.starts[1] : few.starts[1] + few.lengths[1], :7]
    np.testing.assert_allclose(first, np.broadcast_to(first[0], first.shape), atol=1e-6)
    assert not np.allclose(first[0], second[0], atol=1e-4)
    assert np.abs(error).max() <= 5e-3 + 1e-6


def test_an_offset_is_that_of_a_joint_in_every_episode(few: Episodes, twin: Twin):
    error = seen(few, twin, **{"encoder_offset_mrad.joint2": -4.0})["position"] - few["position"]
    np.testing.assert_allclose(error[:, 1], -4e-3, atol=1e-6)
    assert np.abs(np.delete(error, 1, axis=1)).max() < 1e-6
    everywhere = seen(few, twin, encoder_offset_mrad=2.0)["position"] - few["position"]
    np.testing.assert_allclose(everywhere[:, :7], 2e-3, atol=1e-6)


def test_an_encoder_gives_whole_steps(few: Episodes, twin: Twin):
    steps = seen(few, twin, encoder_step_mrad=1.6)["position"][:, :7] / 1.6e-3
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


def test_a_delayed_sensor_gives_earlier_values(few: Episodes, twin: Twin):
    late = seen(few, twin, observation_delay_ms=80.0)["position"][: few.lengths[0]]
    np.testing.assert_allclose(late[2:], few["position"][: few.lengths[0] - 2], atol=1e-6)
    np.testing.assert_allclose(late[:2], few["position"][[0, 0]], atol=1e-6)


def test_a_lost_observation_repeats_the_one_before(few: Episodes, twin: Twin):
    measured = seen(few, twin, observation_loss_share=0.5)["position"][: few.lengths[0]]
    moving = np.flatnonzero((np.diff(few["position"][: few.lengths[0]], axis=0) != 0).any(axis=1))
    repeated = (np.diff(measured, axis=0) == 0).all(axis=1)[moving]
    assert 0.3 < repeated.mean() < 0.7


def test_a_tracker_is_lost_for_its_share_of_the_time(few: Episodes, twin: Twin):
    long = np.linspace(0, 1, few.lengths.sum())[:, None]
    tape = few.tape.copy()
    tape[:, few.channels["environment"].start] = long[:, 0]
    measured = sense(replace(through(few, tracker_loss_share=0.3), tape=tape), twin, ObserveConfig(), seed=0)
    stuck = np.diff(measured["environment"][:, 0]) == 0
    assert 0.15 < stuck.mean() < 0.45


def test_tracked_orientations_stay_orientations(few: Episodes, twin: Twin):
    quaternions = seen(few, twin, tracker_turn_noise_deg=3.0)["environment"][:, 3:7]
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1, atol=1e-6)
    cosine = np.abs((quaternions * few["environment"][:, 3:7]).sum(axis=1)).clip(0, 1)
    angle_deg = np.rad2deg(2 * np.arccos(cosine))
    assert np.sqrt(np.mean(angle_deg**2) / 3) == pytest.approx(3.0, rel=0.1)


def test_the_goal_is_known_not_tracked(few: Episodes, twin: Twin):
    measured = seen(few, twin, tracker_noise_mm=3.0, tracker_delay_ms=100.0)["environment"]
    np.testing.assert_array_equal(measured[:, 7:], few["environment"][:, 7:])


def test_differentiated_velocity_is_the_change_of_the_measured_position(few: Episodes, twin: Twin):
    measured = seen(few, twin, ObserveConfig(velocity="differentiated"), encoder_step_mrad=1.6)
    change = np.diff(measured["position"][: few.lengths[0]], axis=0) / twin.control_period_s
    np.testing.assert_allclose(measured["velocity"][1 : few.lengths[0]], change)
    assert (measured["velocity"][few.starts] == 0).all()


def test_the_wrist_feels_the_weight_of_the_hand(felt: Episodes):
    """At rest the force is the weight below the wrist, along the tool's axis, which points down."""
    hand_kg = 0.73 + 2 * 0.015
    np.testing.assert_allclose(felt["wrench"][felt.starts, :3], [[0, 0, -hand_kg * 9.81]] * 3, atol=0.05)


def test_a_carried_object_weighs_on_the_wrist(simulate: Simulate, wrist_twin: Twin):
    light, heavy = (
        simulate(1, of=wrist_twin, ranges={"object_mass_kg": Constant(mass)}, expert=ExpertConfig(action_noise_rad=0))
        for mass in (0.1, 0.4)
    )
    pull = [np.median(-episodes["wrench"][episodes["phase"][:, 0] == 4, 2]) for episodes in (light, heavy)]
    assert pull[1] - pull[0] == pytest.approx(0.3 * 9.81, rel=0.25)


def test_an_imu_at_rest_feels_gravity(felt: Episodes):
    assert np.linalg.norm(felt["inertial"][felt.starts, :3], axis=1) == pytest.approx(9.81, abs=0.3)


def test_wrist_features_are_recorded_if_requested(felt: Episodes, wrist_twin: Twin, few: Episodes, twin: Twin):
    assert observe(felt, wrist_twin, ObserveConfig(), seed=0).frames["observation.force_torque"].shape[1] == 6
    assert "observation.imu" not in observe(few, twin, ObserveConfig(), seed=0).frames


def test_clean_recordings_are_kept_beside_noisy_ones(few: Episodes, twin: Twin):
    config = ObserveConfig(keep_clean=True)
    recording = observe(through(few, encoder_noise_mrad=1.0), twin, config, seed=0)
    assert {feature.name for feature in features_of(twin, config)} == set(recording.frames)
    np.testing.assert_array_equal(recording.frames["clean.observation.state"], few["position"])
    assert not np.array_equal(recording.frames["observation.state"], few["position"])
    assert "clean.action" not in recording.frames


def test_sensor_values_do_not_depend_on_other_episodes(few: Episodes, twin: Twin):
    together = seen(few, twin, encoder_noise_mrad=1.0, tracker_loss_share=0.2)["position"]
    first = replace(few, lengths=few.lengths[:1], tape=few.tape[: few.lengths[0]])
    alone = seen(first, twin, encoder_noise_mrad=1.0, tracker_loss_share=0.2)["position"]
    np.testing.assert_array_equal(alone, together[: few.lengths[0]])


def test_sensor_values_do_not_depend_on_the_length_of_the_episode(few: Episodes, twin: Twin):
    noisy = through(few, encoder_noise_mrad=1.0, tracker_loss_share=0.2, observation_delay_ms=30.0)
    short = replace(few, lengths=np.array([40]), tape=few.tape[:40])
    whole = sense(noisy, twin, ObserveConfig(), seed=0)
    cut = sense(replace(noisy, lengths=short.lengths, tape=short.tape), twin, ObserveConfig(), seed=0)
    for channel, values in cut.items():
        np.testing.assert_array_equal(values, whole[channel][:40])


def test_a_tracker_that_is_off_shows_everything_beside_its_place(few: Episodes, twin: Twin):
    off = seen(few, twin, tracker_bias_mm=4.0)["environment"][:, :3] - few["environment"][:, :3]
    np.testing.assert_allclose(off, np.broadcast_to([0.004, 0.004, 0], off.shape), atol=1e-6)
