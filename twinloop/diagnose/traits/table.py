"""The table of traits, one line per trait. A new trait is a new line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.traits import grip, look, motion, scene, tracker
from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.randomize.parameter import Gap


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
    """

    name: str
    unit: str
    description: str
    gap: Gap | None
    of: Callable[[EpisodeTrace], float]
    log: bool = False
    resolution: float = 1e-3
    spread: bool = False
    outcome: bool = False

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Values on the scale of comparison: logarithms if `log` is set."""
        return np.log(np.maximum(values, 0.0) + self.resolution) if self.log else values


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
    Trait("moved", "mm", "distance that the object moves before it is touched", "human", scene.moved_mm, log=True,
          resolution=2.0),
    Trait("sway", "mm", "slow motion of the untouched object", "environment", scene.sway_mm, log=True, resolution=0.3),
    Trait("was_moved", "1", "share of episodes in which the object moved before it was touched", "human",
          scene.was_moved),
    Trait("place_x", "cm", "start position of the object, along x", "environment", scene.place_x_cm, resolution=0.2,
          spread=True),
    Trait("place_y", "cm", "start position of the object, along y", "environment", scene.place_y_cm, resolution=0.2,
          spread=True),
    Trait("turned", "°", "start orientation of the object", "environment", scene.turned_deg, log=True, resolution=1.0),
    Trait("goal_x", "cm", "position of the goal, along x", "environment", scene.goal_x_cm, resolution=0.2, spread=True),
    Trait("goal_y", "cm", "position of the goal, along y", "environment", scene.goal_y_cm, resolution=0.2, spread=True),
    Trait("height", "mm", "height of the object", "environment", scene.height_mm, resolution=0.3, spread=True),
    Trait("other_object", "1", "share of episodes with another kind of object", "object", scene.other_object),
    Trait("poor_light", "1", "share of episodes with unusual light", "visual", scene.poor_light),
    Trait("brightness", "%", "brightness of the images", "visual", look.brightness_percent, resolution=0.5,
          spread=True),
    Trait("contrast", "%", "contrast of the images", "visual", look.contrast_percent, log=True, resolution=0.5),
    Trait("saturation", "%", "colour saturation of the images", "visual", look.saturation_percent),
    Trait("warmth", "%", "red minus blue level of the images", "visual", look.warmth_percent),
    Trait("sharpness", "%", "sharpness: difference of neighbouring pixels", "visual", look.sharpness_percent, log=True,
          resolution=0.1),
    Trait("person", "1", "share of episodes with a person present", "human", scene.person),
    Trait("duration", "s", "duration of a successful episode", None, scene.duration_s, log=True, resolution=0.1,
          outcome=True),
    Trait("success", "1", "success rate", None, scene.succeeded, outcome=True),
    Trait("grasped", "1", "share of episodes in which the object was lifted", None, scene.grasped, outcome=True),
)  # fmt: skip


def measure_traits(episodes: Sequence[EpisodeTrace], longest_s: float | None = None) -> np.ndarray:
    """(n, traits) values of all episodes; NaN where a trait is unknown.

    Args:
        longest_s: time limit of the episodes that these are compared with; failed ones are cut there.
    """
    out = np.full((len(episodes), len(TRAITS)), np.nan)
    for row, whole in enumerate(episodes):
        episode = whole if longest_s is None or whole.success else whole.first(longest_s)
        if episode.rows < 3:
            continue
        out[row] = [trait.of(episode) for trait in TRAITS]
    return out
