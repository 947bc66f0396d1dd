"""Traits: each measures the injected value, in its unit."""

import numpy as np
import pytest

from twinloop.diagnose.traits import TRAITS, Arm, EpisodeTrace, measure_traits
from twinloop.twin.twin import Twin

ROWS = 120


@pytest.fixture(scope="module")
def arm(twin: Twin) -> Arm:
    return Arm(twin)


def smooth(rows: int = ROWS) -> np.ndarray:
    """A slow way from one place to another."""
    return 0.5 - 0.5 * np.cos(np.pi * np.clip((np.arange(rows) - 3) / 70, 0, 1))


def shown(arm: Arm, *, late: int = 2, seed: int = 0, **changed) -> EpisodeTrace:
    rng = np.random.default_rng(seed)
    way = smooth()[:, None] * np.linspace(0.3, 0.6, arm.joints)
    commanded = np.column_stack([way, np.full(ROWS, arm.closed + arm.stroke)])
    state = np.roll(commanded, late, axis=0)
    state[:late] = commanded[0]
    effort = np.zeros((ROWS, arm.joints + 1))
    scene = np.tile(np.array([0.46, -0.13, 0.02, 1, 0, 0, 0, 0.52, 0.17, 0.02, 1, 0, 0, 0]), (ROWS, 1))
    scene[:, :2] += 1e-3 * changed.pop("tracker_mm", 0.0) * rng.standard_normal((ROWS, 2))
    scene[40:, 0] += changed.pop("moved_m", 0.0)
    state[:, :-1] += 1e-3 * changed.pop("noise_mrad", 0.0) * rng.standard_normal((ROWS, arm.joints))
    frames = {
        "observation.state": state, "observation.effort": effort, "observation.environment_state": scene,
        "action": commanded, "command": commanded,
    }  # fmt: skip
    return EpisodeTrace(frames, success=True, arm=arm, conditions=changed.pop("conditions", {}))


def trait_value(trait: str, one: EpisodeTrace) -> float:
    return float(measure_traits([one])[0, [known_trait.name for known_trait in TRAITS].index(trait)])


@pytest.mark.parametrize("late", [0, 1, 3, 6])
def test_how_late_the_arm_is(arm: Arm, late: int):
    assert trait_value("following", shown(arm, late=late)) == pytest.approx(1000 * arm.period_s * late, abs=6)
    assert trait_value("onset", shown(arm, late=late)) == pytest.approx(1000 * arm.period_s * late, abs=1)


@pytest.mark.parametrize("late", [0, 3])
def test_an_offset_does_not_count_as_lag(arm: Arm, late: int):
    whole = shown(arm, late=late)
    moving = {name: values[:45].copy() for name, values in whole.frames.items()}
    assert trait_value("offset", EpisodeTrace(moving, success=True, arm=arm)) < 1
    moving["observation.state"][:, :-1] += 0.005
    assert trait_value("offset", EpisodeTrace(moving, success=True, arm=arm)) == pytest.approx(5, abs=1)


def test_how_pictures_look(arm: Arm):
    whole = shown(arm)
    grey, red = np.full((2, 8, 8, 3), 51, np.uint8), np.zeros((2, 8, 8, 3), np.uint8)
    red[..., 0] = 255
    plain = EpisodeTrace(whole.frames, success=True, arm=arm, pictures={"front": grey})
    assert [trait_value(name, plain) for name in ("brightness", "contrast", "saturation", "warmth", "sharpness")] == (
        pytest.approx([20, 0, 0, 0, 0], abs=1e-3)
    )
    assert trait_value(
        "warmth", EpisodeTrace(whole.frames, success=True, arm=arm, pictures={"front": red})
    ) == pytest.approx(100)
    red[:, :, ::2] = 0
    assert trait_value("sharpness", EpisodeTrace(whole.frames, success=True, arm=arm, pictures={"front": red})) > 10
    assert np.isnan(trait_value("brightness", whole))


def test_noise_of_encoders_and_tracker(arm: Arm):
    assert trait_value("shaking", shown(arm, noise_mrad=1.5)) == pytest.approx(1.5, rel=0.25)
    assert trait_value("shaking", shown(arm)) < 0.2
    assert trait_value("tracker_noise", shown(arm, tracker_mm=3.0)) == pytest.approx(3.0, rel=0.3)
    assert trait_value("tracker_noise", shown(arm)) < 1e-6


def test_an_object_that_moves_by_itself(arm: Arm):
    assert trait_value("was_moved", shown(arm, moved_m=0.04)) == 1
    assert trait_value("was_moved", shown(arm, tracker_mm=2.0)) == 0
    assert trait_value("moved", shown(arm, moved_m=0.04)) == pytest.approx(40, abs=1)


def test_what_only_the_tracker_moves_was_not_moved(arm: Arm):
    lost, swapped, near = shown(arm), shown(arm), shown(arm, moved_m=0.04)
    frames = lost.frames["observation.environment_state"]
    frames[40:60, :2] += 0.1
    assert trait_value("was_moved", lost) == 0
    frames = swapped.frames["observation.environment_state"]
    frames[40:, :3], frames[40:, 7:10] = frames[40:, 7:10].copy(), frames[40:, :3].copy()
    assert trait_value("was_moved", swapped) == 0
    near.frames["observation.environment_state"][30:, :3] = arm.tool(near.position[30:]) + 0.02
    assert trait_value("was_moved", near) == 0


def test_a_thing_on_a_stack_is_not_carried_while_the_gripper_carries_another(arm: Arm):
    """The object is carried with the tool until the gripper opens, stays up there, and the gripper closes again."""
    whole = shown(arm)
    frames = {name: values.copy() for name, values in whole.frames.items()}
    for first, last in ((40, 60), (70, ROWS)):
        frames["command"][first:last, arm.joints] = arm.closed
    tool, scene = arm.tool(frames["observation.state"][:, : arm.joints]), frames["observation.environment_state"]
    scene[44:, :3] = np.array([0.46, -0.13, 0.1]) + tool[44:, :3] - tool[44]
    scene[60:, :3] = scene[59, :3]
    stacked = EpisodeTrace(frames, success=True, arm=arm)
    assert list(stacked.held) == list(range(44, 60))
    assert trait_value("tracker_late", stacked) == pytest.approx(0, abs=2)
    assert trait_value("tracker_lost", stacked) < 1


@pytest.mark.parametrize("periods", [-4, -1, 0, 3])
def test_an_old_reading_of_the_joints_is_told_from_a_late_tracker(arm: Arm, periods: int):
    """The object is carried with the tool; the tracked pose is late, or the joints are read late (negative)."""
    whole = shown(arm)
    frames = {name: values.copy() for name, values in whole.frames.items()}
    frames["command"][20:, arm.joints] = arm.closed
    tool = arm.tool(frames["observation.state"][:, : arm.joints])
    carried = np.array([0.46, -0.13, 0.1]) + tool - tool[24]
    rows = np.clip(np.arange(24, ROWS) - periods, 24, ROWS - 1)
    frames["observation.environment_state"][24:, :3] = carried[rows]
    one = EpisodeTrace(frames, success=True, arm=arm)
    assert trait_value("tracker_late", one) == pytest.approx(1000 * arm.period_s * periods, abs=5)
    assert trait_value("following", one) == pytest.approx(1000 * arm.period_s * 2, abs=6)


def test_recorded_conditions_become_traits(arm: Arm):
    noted = shown(arm, conditions={"object": "can", "light": "dim", "human": "present"})
    assert [trait_value(name, noted) for name in ("other_object", "poor_light", "person")] == [1, 1, 1]
    usual = shown(arm, conditions={"object": arm.kind, "light": "normal", "human": "absent"})
    assert [trait_value(name, usual) for name in ("other_object", "poor_light", "person")] == [0, 0, 0]
    unknown = [trait_value(name, shown(arm)) for name in ("other_object", "poor_light", "person")]
    assert np.isnan(unknown).all()


def test_a_robot_with_few_features_has_the_traits_that_can_be_measured(arm: Arm):
    whole = shown(arm)
    bare = EpisodeTrace({name: whole.frames[name] for name in ("observation.state", "action")}, True, arm)
    values = dict(zip([trait.name for trait in TRAITS], measure_traits([bare])[0], strict=True))
    assert np.isfinite(values["following"])
    assert np.isnan([values["tracker_noise"], values["effort_noise"], values["grip"], values["place_x"]]).all()


def test_the_tool_is_where_the_twin_has_it(arm: Arm, twin: Twin):
    import mujoco

    data = mujoco.MjData(twin.model)
    data.qpos[twin.arm_qpos] = twin.robot.home_rad
    mujoco.mj_forward(twin.model, data)
    np.testing.assert_allclose(arm.tool(np.array([twin.robot.home_rad]))[0], data.site_xpos[twin.tool_site])


@pytest.mark.parametrize("gain", [400.0, 2000.0])
@pytest.mark.parametrize("late", [1, 4])
def test_a_soft_servo_is_told_from_a_late_one(arm: Arm, gain: float, late: int):
    """The torque of a frame comes from the command before it, whatever the delay of the arm."""
    whole = shown(arm, late=late, noise_mrad=0.5)
    command, position = whole.command[:, :-1], whole.position
    speed = np.gradient(position, arm.period_s, axis=0)
    effort = gain * (np.concatenate([command[:1], command[:-1]]) - position) - 0.05 * gain * speed
    frames = {**whole.frames, "observation.effort": np.column_stack([effort, np.zeros(ROWS)])}
    softness = trait_value("softness", EpisodeTrace(frames, success=True, arm=arm))
    assert softness == pytest.approx(1000 / gain, rel=0.05)


def test_failed_episodes_are_compared_up_to_the_time_limit_of_the_twin(arm: Arm):
    seconds = 60 * arm.period_s
    whole = shown(arm, noise_mrad=2.0)
    failed = EpisodeTrace(whole.frames, success=False, arm=arm)
    short = {name: values[:60] for name, values in whole.frames.items()}
    cut = measure_traits([EpisodeTrace(short, success=False, arm=arm)])
    np.testing.assert_array_equal(measure_traits([failed], seconds), cut)
    np.testing.assert_array_equal(measure_traits([whole], seconds), measure_traits([whole]))


def gripping(arm: Arm, *, force_n: float, opening: float, rises: bool) -> EpisodeTrace:
    """The gripper closes to an opening in frame 60 and pushes with a force. opening: share of the stroke."""
    frames = {name: values.copy() for name, values in shown(arm, late=0).frames.items()}
    closed = arm.closed + arm.stroke * np.array([0.0, opening])
    for name, value in zip(("command", "observation.state"), closed, strict=True):
        frames[name][60:, arm.joints] = value
    frames["action"] = frames["command"]
    frames["observation.effort"][:, 0] = 1.0  # a robot that measures torques
    frames["observation.effort"][60:, arm.joints] = force_n
    if rises:
        frames["observation.environment_state"][70:, 2] += 0.1
    return EpisodeTrace(frames, success=rises, arm=arm)


@pytest.mark.parametrize("rises", [True, False])
def test_the_force_of_the_fingers_shows_whether_or_not_the_object_rises(arm: Arm, rises: bool):
    assert trait_value("grip", gripping(arm, force_n=7.0, opening=0.5, rises=rises)) == pytest.approx(7.0)


def test_fingers_that_close_on_nothing_show_no_force(arm: Arm):
    assert np.isnan(trait_value("grip", gripping(arm, force_n=7.0, opening=0.0, rises=False)))
