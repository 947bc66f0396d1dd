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
        floor: standard deviation between two correct simulators of the same cell. Smaller differences are no evidence.
        spread: floor of the variation between episodes, as a logarithm, if that is evidence too; None if it is not.
        log: compare logarithms; values below `least` count as `least`.
    """

    name: str
    unit: str
    description: str
    gap: Gap | None
    of: Callable[[EpisodeTrace], float]
    floor: float
    spread: float | None = None
    log: bool = False
    least: float = 0.0

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Values on the scale of comparison: logarithms if `log` is set."""
        return np.log(np.maximum(values, self.least)) if self.log else values


TRAITS: tuple[Trait, ...] = (
    Trait("onset", "ms", "time from the first command to the first motion", "latency", motion.onset_ms, 20.0),
    Trait("following", "ms", "delay of the arm behind its commands", "latency", motion.following_ms, 8.0),
    Trait("repeated", "1", "share of repeated frames while the arm moves", "latency", motion.repeated_share, 0.01),
    Trait("uneven", "mrad", "tracking error that a constant delay does not explain", "actuation", motion.uneven_mrad,
          0.25, log=True, least=1.0),
    Trait("offset", "mrad", "steady offset of the arm from its commands, without delay", "actuation",
          motion.offset_mrad, 0.3, log=True, least=0.5),
    Trait("shaking", "mrad", "noise of the measured joint positions", "sensing", motion.shaking_mrad, 0.35, log=True,
          least=0.1),
    Trait("effort_noise", "N·m", "noise of the measured torques", "sensing", motion.effort_noise_nm, 0.4, log=True,
          least=0.05),
    Trait("drag", "N·m", "torque that depends on the direction of motion", "actuation", motion.drag_nm, 1.0),
    Trait("tracker_noise", "mm", "position jitter of the untouched object", "sensing", tracker.noise_mm, 0.2, log=True,
          least=0.1),
    Trait("tracker_turn", "°", "orientation jitter of the untouched object", "sensing", tracker.turn_noise_deg, 0.2,
          log=True, least=0.1),
    Trait("tracker_late", "ms", "delay of the tracked object behind the gripper that carries it", "sensing",
          tracker.late_ms, 25.0),
    Trait("tracker_lost", "mm", "tracking error of the object that a constant delay does not explain", "sensing",
          tracker.lost_mm, 0.35, log=True, least=1.0),
    Trait("beside_x", "mm", "tracked position of the object in the gripper, along the robot's x", "sensing",
          tracker.beside_x_mm, 2.0, spread=0.8),
    Trait("beside_y", "mm", "tracked position of the object in the gripper, along y", "sensing", tracker.beside_y_mm,
          2.0, spread=0.8),
    Trait("grip", "N", "finger force while holding", "actuation", grip.force_n, 0.25, log=True, least=2.0),
    Trait("width", "mm", "finger opening while holding, relative to the object", "contact", grip.width_mm, 4.0,
          spread=0.8),
    Trait("slip", "mm", "distance that the object slips in the gripper", "contact", grip.slip_mm, 0.5, log=True,
          least=3.0),
    Trait("weight", "N", "additional load of the arm after the lift", "object", grip.weight_n, 4.0),
    Trait("pushed", "mm", "distance that the object moves while the fingers close", "contact", grip.pushed_mm, 0.5,
          log=True, least=2.0),
    Trait("moved", "mm", "distance that the object moves before it is touched", "human", scene.moved_mm, 0.3, log=True,
          least=4.0),
    Trait("was_moved", "1", "share of episodes in which the object moved before it was touched", "human",
          scene.was_moved, 0.03),
    Trait("place_x", "cm", "start position of the object, along x", "environment", scene.place_x_cm, 0.6, spread=0.15),
    Trait("place_y", "cm", "start position of the object, along y", "environment", scene.place_y_cm, 0.6, spread=0.15),
    Trait("turned", "°", "start orientation of the object", "environment", scene.turned_deg, 0.35, log=True, least=2.0),
    Trait("goal_x", "cm", "position of the goal, along x", "environment", scene.goal_x_cm, 0.5, spread=0.3),
    Trait("goal_y", "cm", "position of the goal, along y", "environment", scene.goal_y_cm, 0.5, spread=0.3),
    Trait("height", "mm", "height of the object", "environment", scene.height_mm, 1.0, spread=0.5),
    Trait("other_object", "1", "share of episodes with another kind of object", "object", scene.other_object, 0.03),
    Trait("poor_light", "1", "share of episodes with unusual light", "visual", scene.poor_light, 0.03),
    Trait("brightness", "%", "brightness of the images", "visual", look.brightness_percent, 4.0, spread=0.5),
    Trait("contrast", "%", "contrast of the images", "visual", look.contrast_percent, 0.2, log=True, least=1.0),
    Trait("saturation", "%", "colour saturation of the images", "visual", look.saturation_percent, 5.0),
    Trait("warmth", "%", "red minus blue level of the images", "visual", look.warmth_percent, 3.0),
    Trait("sharpness", "%", "sharpness: difference of neighbouring pixels", "visual", look.sharpness_percent, 0.3,
          log=True, least=0.2),
    Trait("person", "1", "share of episodes with a person present", "human", scene.person, 0.03),
    Trait("duration", "s", "duration of the episode", None, scene.duration_s, 0.15, log=True, least=1.0),
    Trait("success", "1", "success rate", None, scene.succeeded, 0.12),
    Trait("grasped", "1", "share of episodes in which the object was lifted", None, scene.grasped, 0.12),
)  # fmt: skip


def measure_traits(episodes: Sequence[EpisodeTrace]) -> np.ndarray:
    """(n, traits) values of all episodes; NaN where a trait is unknown."""
    out = np.full((len(episodes), len(TRAITS)), np.nan)
    for row, episode in enumerate(episodes):
        if episode.rows < 3:
            continue
        out[row] = [trait.of(episode) for trait in TRAITS]
    return out
