"""Laws of things in a scene: what a hand, a carrier, gravity or a support explains is plausible, all else is not."""

from dataclasses import replace

import numpy as np

from twinloop.curate.discriminator.carriers import carrier_residuals
from twinloop.curate.discriminator.object_motion import object_motion
from twinloop.curate.discriminator.scene_model import REST, SceneModel, fit_scene
from twinloop.curate.discriminator.scene_motion import SceneMotion, scene_motion, tracker_smoothing
from twinloop.curate.discriminator.trajectories import CONTACT, ENVIRONMENT, Trajectories, TrajectorySchema, joined

RATE_HZ, FRAMES = 25.0, 100
GRASP, RELEASE = 20, 70
ELEMENTS = {
    ENVIRONMENT: tuple(
        f"{entity}.{part}" for entity in ("cube", "tray") for part in ("x", "y", "z", "qw", "qx", "qy", "qz")
    ),
    CONTACT: ("left_finger", "right_finger", "support"),
}  # fmt: skip
Z = 2


def scene(cube: np.ndarray, *, tool: np.ndarray | None = None, touch: np.ndarray | None = None):
    """One episode: a cube on its way, a tray that stays, and a hand that holds the cube from GRASP to RELEASE."""
    holds = (np.arange(FRAMES) >= GRASP) & (np.arange(FRAMES) < RELEASE) if touch is None else touch
    upright = np.tile([1.0, 0, 0, 0], (FRAMES, 1))
    tray = np.tile([0.8, 0.3, 0.01], (FRAMES, 1))
    force = np.where(holds, 20.0, 0.0)
    trajectories = Trajectories(
        schema=TrajectorySchema("nobody", RATE_HZ, ELEMENTS),
        attempts=np.array([0]),
        lengths=np.array([FRAMES]),
        signals={
            ENVIRONMENT: np.concatenate([cube, upright, tray, upright], axis=1),
            CONTACT: np.stack([force, force, np.where(holds, 0.0, 2.0)], axis=1),
        },
        success=np.array([1.0]),
        tasks=("carry",),
    )
    motion = scene_motion(trajectories)
    assert motion is not None
    hand = (carried() if tool is None else tool, np.tile(np.eye(3), (FRAMES, 1, 1)))
    before = (trajectories.shifted(hand[0], -1), trajectories.shifted(hand[1], -1))
    return trajectories, replace(motion, tool=hand, tool_before=before)


def carried() -> np.ndarray:
    """The cube is lifted, carried aside, and put down at the same height."""
    share = np.clip((np.arange(FRAMES) - GRASP - 2) / (RELEASE - GRASP - 4), 0, 1)
    smooth = share**2 * (3 - 2 * share)
    return np.stack([0.4 + 0.2 * smooth, np.zeros(FRAMES), 0.02 + 0.1 * np.sin(np.pi * smooth)], axis=1)


def hand_path() -> np.ndarray:
    """The hand comes from above, moves with the cube, and goes up again."""
    path = carried()
    before, after = np.arange(FRAMES) < GRASP, np.arange(FRAMES) >= RELEASE
    path[before, Z] += np.linspace(0.3, 0, GRASP)
    path[after, Z] += np.linspace(0, 0.3, FRAMES - RELEASE)
    return path


def residuals(cube: np.ndarray, aspect: str, **changes) -> np.ndarray:
    """Residuals of an episode in a scene that was learnt from a good one; column 0 is the cube."""
    good, motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, motion)
    return carrier_residuals(*scene(cube, tool=hand_path(), **changes), learnt)[aspect][:, 0]


def test_a_good_episode_is_explained():
    for aspect in ("moves_alone", "rest_level", "travels_untouched", "blocked_motion", "touch_place"):
        assert residuals(carried(), aspect).max() < 1e-3, aspect


def test_a_jump_of_a_centimetre_is_unexplained_in_the_hand_and_at_rest():
    for frame in (5, 45, 85):
        cube = carried()
        cube[frame:, 1] += 0.01
        assert residuals(cube, "moves_alone").max() > 0.2
        assert residuals(cube, "moves_alone").argmax() == frame


def test_free_fall_is_explained_and_hovering_is_not():
    cube = carried()
    fall_s = np.arange(FRAMES - 60) / RATE_HZ
    cube[60:, :Z] = cube[60, :Z]
    cube[60:, Z] = np.maximum(0.2 + cube[60, Z] - 0.5 * 9.81 * fall_s**2, 0.02)
    touch = (np.arange(FRAMES) >= GRASP) & (np.arange(FRAMES) < 60)
    good, motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, motion)
    dropped = scene(cube, tool=hand_path(), touch=touch)
    assert carrier_residuals(*dropped, learnt)["moves_alone"][64:, 0].max() < 0.05
    hovering = carried()
    hovering[60:] = hovering[60]
    assert carrier_residuals(*scene(hovering, tool=hand_path(), touch=touch), learnt)["rest_level"][:, 0].max() > 0.02


def test_a_fall_that_something_brakes_is_not_a_violation_of_gravity_but_hovering_is():
    good, motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, motion)
    cube, touch = carried(), np.zeros(FRAMES, bool)
    cube[:, Z] = 0.5
    cube[50:53, Z] = [0.4, 0.25, 0.15]  # slower and slower
    cube[53:, Z] = 0.1

    def free_fall(cube: np.ndarray) -> np.ndarray:
        trajectories, motion = scene(cube, touch=touch)
        force = trajectories.signals[CONTACT].copy()
        force[:, 2] = 0.0
        trajectories = replace(trajectories, signals={**trajectories.signals, CONTACT: force})
        return object_motion(trajectories, motion, learnt).residuals["free_fall"][:, 0]

    assert free_fall(cube)[51] == 0
    assert free_fall(cube)[30] > 9


def test_a_thing_that_floats_after_its_release_is_found_and_one_that_leans_is_not_judged():
    cube = carried()
    cube[RELEASE:, Z] += 0.008
    assert residuals(cube, "rest_level").max() > 0.007
    trajectories, motion = scene(cube, tool=hand_path())
    state = trajectories.signals[ENVIRONMENT].copy()
    state[RELEASE:, 3:7] = [np.cos(0.3), np.sin(0.3), 0, 0]
    leaning = replace(trajectories, signals={**trajectories.signals, ENVIRONMENT: state})
    moved = scene_motion(leaning)
    assert moved is not None
    good, good_motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, good_motion)
    leaning_motion: SceneMotion = replace(moved, tool=motion.tool)
    assert carrier_residuals(leaning, leaning_motion, learnt)["rest_level"][:, 0].max() < 1e-3


def test_a_thing_on_top_of_another_rests_at_the_height_of_both():
    cube = carried()
    cube[RELEASE:] = [0.8, 0.3, 0.01 + 0.01 + 0.02]
    assert residuals(cube, "rest_level")[RELEASE + 4 :].max() < 1e-6


def test_a_thing_that_travels_without_a_finger_is_found():
    touch = np.zeros(FRAMES, bool)
    assert residuals(carried(), "travels_untouched", touch=touch).max() > 0.15


def test_a_thing_that_was_never_seen_to_move_in_a_direction_is_blocked_in_it():
    good, motion = scene(carried(), tool=hand_path())
    learnt: SceneModel = fit_scene(good, motion)
    trajectories, _ = scene(carried(), tool=hand_path())
    state = trajectories.signals[ENVIRONMENT].copy()
    state[30:, 7] += 0.005  # the tray
    moved = replace(trajectories, signals={**trajectories.signals, ENVIRONMENT: state})
    moved_motion = scene_motion(moved)
    assert moved_motion is not None
    residual = carrier_residuals(moved, replace(moved_motion, tool=motion.tool), learnt)["blocked_motion"]
    assert residual[:, 1].max() > 0.004


def test_contact_far_from_every_known_place_is_found():
    touch = (np.arange(FRAMES) >= GRASP) & (np.arange(FRAMES) < RELEASE)
    touch[2:8] = True  # the hand is 0.3 m above the cube
    assert residuals(carried(), "touch_place", touch=touch).max() > 0.15


def test_the_distance_of_hand_and_thing_changes_while_touching_if_its_pose_is_late():
    late = carried()[np.maximum(np.arange(FRAMES) - 3, 0)]
    assert residuals(late, "contact_distance").max() > 0.005
    assert residuals(carried(), "contact_distance").max() < 1e-6


def test_a_thing_that_turns_in_the_hand_is_found_also_while_the_hand_moves_fast():
    good, motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, motion)
    state = good.signals[ENVIRONMENT].copy()
    state[45:, 3:7] = [np.cos(0.25), 0, 0, np.sin(0.25)]  # half a radian about the vertical axis
    turned = replace(good, signals={**good.signals, ENVIRONMENT: state})
    assert object_motion(good, motion, learnt).residuals["turns_alone"][:, 0].max() < 0.1
    assert object_motion(turned, replace(motion, state=state), learnt).residuals["turns_alone"][:, 0].max() > 10


def joined_scene(count: int = 4) -> tuple[Trajectories, SceneMotion]:
    """Several copies of the good episode, because a rare height is not learnt."""
    good, _ = scene(carried(), tool=hand_path())
    episodes = joined([good] * count)
    motion = scene_motion(episodes)
    assert motion is not None
    hand = (np.tile(hand_path(), (count, 1)), np.tile(np.eye(3), (FRAMES * count, 1, 1)))
    before = (episodes.shifted(hand[0], -1), episodes.shifted(hand[1], -1))
    return episodes, replace(motion, tool=hand, tool_before=before)


def test_a_support_that_reports_nothing_under_a_resting_thing_is_found():
    episodes, motion = joined_scene()
    learnt = fit_scene(episodes, motion)
    assert learnt.supported[REST, 0] == 1
    force = episodes.signals[CONTACT].copy()
    force[4:12, 2] = 0.0
    silent = replace(episodes, signals={**episodes.signals, CONTACT: force})
    assert object_motion(episodes, motion, learnt).residuals["support_contradicts"].max() == 0
    frames = np.flatnonzero(object_motion(silent, motion, learnt).residuals["support_contradicts"][:, 0])
    np.testing.assert_array_equal(frames, np.arange(5, 11))  # but for the first and the last frame


def test_a_height_whose_support_has_no_sensor_is_not_judged_by_gravity():
    episodes, motion = joined_scene()
    force = episodes.signals[CONTACT].copy()
    force[:, 2] = 0.0
    unsensed = replace(episodes, signals={**episodes.signals, CONTACT: force})
    learnt = fit_scene(unsensed, motion)
    assert object_motion(unsensed, motion, learnt).residuals["free_fall"].max() == 0


def test_a_pose_that_is_repeated_while_the_hand_carries_the_thing_is_found():
    good, motion = scene(carried(), tool=hand_path())
    learnt = fit_scene(good, motion)
    lost = carried()
    lost[40:48] = lost[40]
    faulty, faulty_motion = scene(lost, tool=hand_path())
    usual, residuals = (object_motion(*pair, learnt).residuals for pair in ((good, motion), (faulty, faulty_motion)))
    assert usual["stands_in_hand"].max() < 0.002
    assert residuals["stands_in_hand"][:, 0].argmax() == 47
    assert residuals["stands_in_hand"].max() > 0.02
    assert usual["jumps_from_rest"].max() < 0.002
    assert residuals["jumps_from_rest"][:, 0].argmax() == 48


def test_poses_of_a_noisy_tracker_are_averaged_within_their_episode():
    good, _ = joined_scene()
    assert tracker_smoothing(good) == 0
    noise = np.zeros(good.signals[ENVIRONMENT].shape)
    noise[:, :3] = np.random.default_rng(0).normal(0, 0.003, (good.frames, 3))
    noisy = replace(good, signals={**good.signals, ENVIRONMENT: good.signals[ENVIRONMENT] + noise})
    frames = tracker_smoothing(noisy)
    assert frames > 0
    motions = [scene_motion(episodes, smooth_frames=frames) for episodes in (good, noisy)]
    assert motions[0] is not None
    assert motions[1] is not None
    apart = motions[1].position - motions[0].position
    assert apart[:, 0].std() < 0.0015
    # The first and the last episode do not leak into each other.
    np.testing.assert_allclose(motions[0].position[FRAMES - 1, 0], carried()[-1], atol=1e-6)
    np.testing.assert_allclose(motions[0].position[FRAMES, 0], carried()[0], atol=1e-6)
