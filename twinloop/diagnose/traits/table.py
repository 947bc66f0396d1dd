"""The table of traits, one line per trait. A new trait is a new line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.diagnose.traits import driving, grip, look, mobile_episode, motion, scene, tracker, walking
from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.diagnose.traits.mobile import MobileTrace
from twinloop.randomize.parameter import ALL_ROBOTS, Gap, Morphology


@dataclass(frozen=True)
class Trait:
    """One trait.

    Attributes:
        description: the trait in words.
        gap: the gap that it is mainly evidence of; None if any gap changes it.
        of: value of the trait in one episode; NaN if it is unknown.
        log: compare logarithms.
        resolution: smallest meaningful difference, in the trait's unit: the precision of the measurement. It keeps the
            logarithms of zero and of rounding errors together; larger differences are judged by measured noise only.
        spread: the variation between episodes is evidence too.
        outcome: a consequence of failing, whatever the cause.
        event: 0 or 1 in every episode, for something that was recorded or that no physics engine makes by itself.
            Episodes with it are counted (`diagnose/events.py`).
        covariate: what the robot was asked to do. It is no evidence, but other traits depend on it
            (`diagnose/covariates.py`).
        robots: kinds of robots that have the trait; it is unknown for others.
    """

    name: str
    unit: str
    description: str
    gap: Gap | None
    of: Callable[[Any], float]
    log: bool = False
    resolution: float = 1e-3
    spread: bool = False
    outcome: bool = False
    event: bool = False
    covariate: bool = False
    robots: tuple[Morphology, ...] = ("arm",)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Values on the scale of comparison: logarithms if `log` is set."""
        return np.log(np.maximum(values, 0.0) + self.resolution) if self.log else values


LEGS: tuple[Morphology, ...] = ("legs",)
WHEELS: tuple[Morphology, ...] = ("wheels",)

TRAITS: tuple[Trait, ...] = (
    Trait("onset", "ms", "time from the first command to the first motion", "latency", motion.onset_ms, resolution=1.0),
    Trait("following", "ms", "delay of the arm behind its commands", "latency", motion.following_ms, resolution=1.0),
    Trait("repeated", "1", "share of repeated frames while the arm moves", "latency", motion.repeated_share),
    Trait("stalled", "1", "share of frames in which a joint stands still although its command moves", "actuation",
          motion.stalled_share),
    Trait("uneven", "mrad", "tracking error that a constant delay does not explain", "actuation", motion.uneven_mrad,
          log=True, resolution=0.3),
    Trait("lapse", "1×", "worst moment of tracking, as a multiple of the usual error", "actuation", motion.lapse,
          log=True, resolution=0.1),
    Trait("worst_joint", "1×", "tracking error of the worst joint, as a multiple of the median joint's", "actuation",
          motion.worst_joint, log=True, resolution=0.1),
    Trait("offset", "mrad", "steady offset of the arm from its commands, without delay", "actuation",
          motion.offset_mrad, log=True, resolution=0.2),
    Trait("worst_offset", "mrad", "steady offset of the worst joint", "actuation", motion.worst_offset_mrad, log=True,
          resolution=0.2),
    Trait("softness", "mrad/(N·m)", "tracking error per torque", "actuation", motion.softness_mrad_nm, resolution=0.02),
    Trait("torque", "N·m", "torque of the arm (RMS)", "actuation", motion.torque_nm, log=True, resolution=0.05),
    Trait("shaking", "mrad", "noise of the measured joint positions", "sensing", motion.shaking_mrad, log=True,
          resolution=0.05),
    Trait("effort_noise", "N·m", "noise of the measured torques", "sensing", motion.effort_noise_nm, log=True,
          resolution=0.02),
    Trait("drag", "N·m", "torque that depends on the direction of motion", "actuation", motion.drag_nm,
          resolution=0.02),
    Trait("tracker_noise", "mm", "position jitter of the untouched object", "sensing", tracker.noise_mm, log=True,
          resolution=0.1),
    Trait("tracker_turn", "°", "orientation jitter of the untouched object", "sensing", tracker.turn_noise_deg,
          log=True, resolution=0.1),
    Trait("tracker_late", "ms", "delay of the tracked object behind the gripper that carries it", "sensing",
          tracker.late_ms, resolution=1.0),
    Trait("tracker_lost", "mm", "tracking error of the object that a constant delay does not explain", "sensing",
          tracker.lost_mm, log=True, resolution=0.5),
    Trait("tracker_jump", "mm", "largest motion of a tracked thing within one control period", "sensing",
          tracker.jump_mm, log=True, resolution=2.0),
    Trait("tracker_frozen", "1", "share of repeated poses of the carried object", "sensing", tracker.frozen_share),
    Trait("beside_x", "mm", "tracked position of the object in the gripper, along the robot's x", "sensing",
          tracker.beside_x_mm, resolution=0.5, spread=True),
    Trait("beside_y", "mm", "tracked position of the object in the gripper, along y", "sensing", tracker.beside_y_mm,
          resolution=0.5, spread=True),
    Trait("grip", "N", "finger force while holding", "actuation", grip.force_n, log=True, resolution=0.5),
    Trait("width", "mm", "finger opening while holding, relative to the object", "contact", grip.width_mm,
          resolution=0.5, spread=True),
    Trait("settling", "mm", "distance that the fingers close further while they carry", "contact", grip.settling_mm,
          resolution=0.1),
    Trait("slip", "mm", "distance that the object slips in the gripper", "contact", grip.slip_mm, log=True,
          resolution=1.0),
    Trait("lift_slip", "mm", "distance that the object slips while it is lifted", "contact", grip.lift_slip_mm,
          resolution=0.1),
    Trait("dropped", "1", "share of episodes in which a carried object falls", "contact", grip.dropped),
    Trait("clung", "mm", "motion of the object after the gripper was told to open", "contact", grip.clung_mm, log=True,
          resolution=1.0),
    Trait("weight", "N", "weight of the carried object, from the torques of the arm", "object", grip.weight_n,
          resolution=0.5, spread=True),
    Trait("empty_load", "N", "upward force of the arm before the grasp", "actuation", grip.empty_load_n,
          resolution=0.1),
    Trait("side_load", "N", "sideways force of the arm before the grasp", "actuation", grip.side_load_n, log=True,
          resolution=0.5),
    Trait("pushed", "mm", "distance that the object moves while the fingers close", "contact", grip.pushed_mm, log=True,
          resolution=1.0),
    Trait("moved", "mm", "distance that a thing moves before it is touched", "human", scene.moved_mm, log=True,
          resolution=2.0),
    Trait("sway", "mm", "slow motion of the untouched object", "environment", scene.sway_mm, log=True, resolution=0.3),
    Trait("was_moved", "1", "share of episodes in which a thing moved before it was touched", "human",
          scene.was_moved, event=True),
    Trait("place_x", "cm", "start position of the object, along x", "environment", scene.place_x_cm, resolution=0.2,
          spread=True),
    Trait("place_y", "cm", "start position of the object, along y", "environment", scene.place_y_cm, resolution=0.2,
          spread=True),
    Trait("turned", "°", "start orientation of the object", "environment", scene.turned_deg, log=True, resolution=1.0),
    Trait("goal_x", "cm", "position of the goal, along x", "environment", scene.goal_x_cm, resolution=0.2, spread=True),
    Trait("goal_y", "cm", "position of the goal, along y", "environment", scene.goal_y_cm, resolution=0.2, spread=True),
    Trait("height", "mm", "height of the object", "environment", scene.height_mm, resolution=0.3, spread=True),
    Trait("other_object", "1", "share of episodes with another kind of object", "object", scene.other_object,
          event=True),
    Trait("poor_light", "1", "share of episodes with unusual light", "visual", scene.poor_light, event=True),
    Trait("brightness", "%", "brightness of the images", "visual", look.brightness_percent, resolution=0.5,
          spread=True),
    Trait("contrast", "%", "contrast of the images", "visual", look.contrast_percent, log=True, resolution=0.5),
    Trait("saturation", "%", "colour saturation of the images", "visual", look.saturation_percent),
    Trait("warmth", "%", "red minus blue level of the images", "visual", look.warmth_percent),
    Trait("sharpness", "%", "sharpness: difference of neighbouring pixels", "visual", look.sharpness_percent, log=True,
          resolution=0.1),
    Trait("person", "1", "share of episodes with a person present", "human", scene.person, event=True),
    Trait("duration", "s", "duration of a successful episode", None, scene.duration_s, log=True, resolution=0.1,
          outcome=True, robots=("arm", "wheels")),
    Trait("success", "1", "success rate", None, scene.succeeded, outcome=True, robots=ALL_ROBOTS),
    Trait("grasped", "1", "share of episodes in which the object was lifted", None, scene.grasped, outcome=True),
    Trait("joint_delay", "ms", "delay of the joints behind their targets", "latency", mobile_episode.delay_ms,
          resolution=0.5, robots=LEGS),
    Trait("repeated_frames", "%", "frames that repeat the turn rate of the one before", "latency",
          walking.repeated_percent, resolution=0.1, robots=LEGS),
    Trait("reaction", "ms", "delay of the turn rate behind the commanded one", "latency", walking.reaction_ms,
          resolution=2.0, robots=LEGS),
    Trait("joint_gain", "1×", "motion of the joints per motion of their targets", "actuation", mobile_episode.gain,
          resolution=2e-3, robots=LEGS),
    Trait("joint_error", "mrad", "tracking error of the joints that delay and gain do not explain", "actuation",
          mobile_episode.error_thousandths, log=True, resolution=0.3, robots=LEGS),
    Trait("joint_offset", "mrad", "mean offset of the joints from their targets", "actuation",
          walking.joint_offset_mrad, log=True, resolution=0.3, robots=LEGS),
    Trait("joint_lapse", "1×", "worst moments of tracking, as a multiple of the usual error", "actuation",
          walking.joint_lapse, log=True, resolution=0.1, robots=LEGS),
    Trait("ride_height", "mm", "height of the base above its standing feet, by the joints", "object",
          walking.ride_height_mm, resolution=0.2, robots=LEGS),
    Trait("swing_height", "mm", "how far swinging feet are above standing ones", "actuation",
          walking.swing_height_mm, resolution=0.5, robots=LEGS),
    Trait("gyro_noise", "mrad/s", "third differences of the measured turn rate", "sensing",
          walking.gyro_noise_mrad_s, log=True, resolution=0.5, robots=LEGS),
    Trait("joint_noise", "mrad", "third differences of the measured joint positions", "sensing",
          walking.encoder_noise_mrad, log=True, resolution=0.05, robots=LEGS),
    Trait("joint_speed_noise", "rad/s", "third differences of the measured joint velocities", "sensing",
          walking.velocity_noise_rad_s, log=True, resolution=0.005, robots=LEGS),
    Trait("joint_mismatch", "mrad", "change of joint positions that their measured velocities do not explain",
          "sensing", walking.mismatch_mrad, log=True, resolution=0.05, robots=LEGS),
    Trait("turn_mismatch", "mrad", "change of the measured lean that the measured turn rate does not explain",
          "sensing", walking.turn_mismatch_mrad, log=True, resolution=0.02, robots=LEGS),
    Trait("roll_rate", "mrad/s", "mean measured turn rate about the forward axis", "sensing",
          walking.roll_rate_mrad_s, resolution=0.2, robots=LEGS),
    Trait("pitch_rate", "mrad/s", "mean measured turn rate about the left axis", "sensing",
          walking.pitch_rate_mrad_s, resolution=0.2, robots=LEGS),
    Trait("yaw_mismatch", "mrad/s", "measured turn rate about the vertical axis minus that of the reference pose",
          "sensing", walking.yaw_mismatch_mrad_s, resolution=0.2, robots=LEGS),
    Trait("lean_forward", "mrad", "measured lean forward, minus that of the reference pose if there is one",
          "sensing", walking.lean_forward_mrad, resolution=0.3, robots=LEGS),
    Trait("lean_left", "mrad", "measured lean to the left, minus that of the reference pose if there is one",
          "sensing", walking.lean_left_mrad, resolution=0.3, robots=LEGS),
    Trait("foot_level", "mm", "difference of the heights of standing feet, by joints and IMU", "sensing",
          walking.foot_level_mm, log=True, resolution=0.1, robots=LEGS),
    Trait("foot_slip", "mm", "change of the distance between standing feet, by the joints", "contact",
          walking.foot_slip_mm, log=True, resolution=0.1, robots=LEGS),
    Trait("foot_slide", "mm", "motion of standing feet over the ground, by the reference pose", "contact",
          walking.foot_slide_mm, log=True, resolution=0.1, robots=LEGS),
    Trait("speed_gain", "1×", "velocity of the base per commanded velocity", None, walking.speed_gain,
          resolution=5e-3, robots=LEGS),
    Trait("turn_gain", "1×", "measured turn rate per commanded turn rate", None, walking.turn_gain, resolution=5e-3,
          robots=LEGS),
    Trait("rocking", "rad/s", "turn rate about the horizontal axes (RMS)", None, walking.rocking_rad_s, log=True,
          resolution=5e-3, robots=LEGS),
    Trait("jolt", "m/s", "largest sudden change of the base's velocity", "environment", walking.jolt_m_s, log=True,
          resolution=0.01, robots=LEGS),
    Trait("swing_brake", "1×", "change of velocity against velocity, joints in the air", "actuation",
          walking.swing_brake, resolution=2e-3, robots=LEGS),
    Trait("swing_surprise", "rad/s", "change of velocity that targets do not explain, joints in the air", "actuation",
          walking.swing_surprise_rad_s, log=True, resolution=0.01, robots=LEGS),
    Trait("stance_pull", "1/s", "change of velocity per distance from the targets, standing legs", "actuation",
          walking.stance_pull_per_s, resolution=0.05, robots=LEGS),
    Trait("stance_brake", "1×", "change of velocity against velocity, standing legs", "contact",
          walking.stance_brake, resolution=2e-3, robots=LEGS),
    Trait("stance_surprise", "rad/s", "change of velocity that targets do not explain, standing legs", "contact",
          walking.stance_surprise_rad_s, log=True, resolution=0.01, robots=LEGS),
    Trait("asked_forward", "m/s", "commanded velocity forward", None, walking.asked_forward_m_s, robots=LEGS,
          covariate=True),
    Trait("asked_speed", "m/s", "commanded speed forward or backward", None, walking.asked_speed_m_s, robots=LEGS,
          covariate=True),
    Trait("asked_sideways", "m/s", "commanded speed to either side", None, walking.asked_sideways_m_s, robots=LEGS,
          covariate=True),
    Trait("asked_turn", "rad/s", "commanded turn rate to either side", None, walking.asked_turn_rad_s, robots=LEGS,
          covariate=True),
    Trait("asked_walk", "1×", "share of the time in which the robot is commanded to walk", None,
          walking.asked_walk_share, robots=LEGS, covariate=True),
    Trait("base_delay", "ms", "delay of the measured speed behind the commanded one", "latency",
          mobile_episode.delay_ms, resolution=2.0, robots=WHEELS),
    Trait("repeated_scans", "%", "scans that repeat the one before while the base moves", "latency",
          driving.repeated_percent, resolution=0.1, robots=WHEELS),
    Trait("base_gain", "1×", "measured speed per commanded speed", "actuation", mobile_episode.gain, resolution=2e-3,
          robots=WHEELS),
    Trait("base_error", "mm/s", "error of the speed that delay and gain do not explain", "actuation",
          mobile_episode.error_thousandths, log=True, resolution=1.0, robots=WHEELS),
    Trait("way_ratio", "1×", "way by odometry per way by the reference pose", "actuation", driving.way_ratio,
          resolution=5e-4, robots=WHEELS),
    Trait("roll_ratio", "1×", "way by the angles of the wheels per way by odometry", "contact", driving.roll_ratio,
          resolution=5e-4, robots=WHEELS),
    Trait("turn_ratio", "1×", "turn by the wheels per turn by the gyro", "actuation", driving.turn_ratio,
          resolution=1e-3, robots=WHEELS),
    Trait("pull", "mrad/m", "turn that the wheels do not explain, per metre", "actuation", driving.pull_mrad_m,
          resolution=0.5, robots=WHEELS),
    Trait("heading_drift", "°/s", "drift of the odometry's heading from the reference pose", "sensing",
          driving.heading_drift_deg_s, resolution=2e-3, robots=WHEELS),
    Trait("lidar_noise", "%", "noise of rays as a share of their distance", "sensing", driving.lidar_noise_percent,
          log=True, resolution=0.02, robots=WHEELS),
    Trait("lidar_lost", "1", "share of rays without an echo between two with one", "sensing",
          driving.lidar_lost_share, robots=WHEELS),
    Trait("lidar_turn", "°", "direction of motion in the frame of the lidar", "sensing", driving.lidar_turn_deg,
          resolution=0.05, robots=WHEELS),
    Trait("nearest", "cm", "distance of the nearest echo (5th percentile)", None, driving.nearest_cm, log=True,
          resolution=1.0, robots=WHEELS),
    Trait("halted", "1", "share of frames in which the base is commanded to stand", "human", driving.halted_share,
          robots=WHEELS),
)  # fmt: skip


def measure_traits(episodes: Sequence[EpisodeTrace | MobileTrace], longest_s: float | None = None) -> np.ndarray:
    """(n, traits) values of all episodes; NaN where a trait is unknown.

    Args:
        longest_s: time limit of the episodes that these are compared with; failed ones are cut there.
    """
    out = np.full((len(episodes), len(TRAITS)), np.nan)
    for row, whole in enumerate(episodes):
        episode = whole if longest_s is None or whole.success else whole.first(longest_s)
        if episode.rows < 3:
            continue
        out[row] = [trait.of(episode) if episode.morphology in trait.robots else np.nan for trait in TRAITS]
    return out
