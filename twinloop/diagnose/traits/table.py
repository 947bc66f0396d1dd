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
        says: what the trait is, in words.
        gap: the gap that it is mainly evidence of; None if any gap changes it.
        of: value of the trait in one episode; NaN if it is unknown.
        floor: standard deviation between two correct simulators of the same cell. Smaller differences are no evidence.
        spread: floor of the variation between episodes, as a logarithm, if that is evidence too; None if it is not.
        log: compare logarithms; values below `least` count as `least`.
    """

    name: str
    unit: str
    says: str
    gap: Gap | None
    of: Callable[[EpisodeTrace], float]
    floor: float
    spread: float | None = None
    log: bool = False
    least: float = 0.0

    def told(self, values: np.ndarray) -> np.ndarray:
        """Values on the scale of comparison: logarithms if `log` is set."""
        return np.log(np.maximum(values, self.least)) if self.log else values


TRAITS: tuple[Trait, ...] = (
    Trait("onset", "ms", "from the first command to the first motion", "latency", motion.onset_ms, 20.0),
    Trait("following", "ms", "how far the arm is behind its commands", "latency", motion.following_ms, 8.0),
    Trait("repeated", "1", "share of frames that repeat the one before while the arm moves", "latency",
          motion.repeated_share, 0.01),
    Trait("uneven", "mrad", "what a constant delay leaves of the tracking error", "actuation", motion.uneven_mrad, 0.25,
          log=True, least=1.0),
    Trait("offset", "mrad", "how far the arm stays from its commands, its delay aside", "actuation", motion.offset_mrad,
          0.3, log=True, least=0.5),
    Trait("shaking", "mrad", "what changes from frame to frame in the arm's positions", "sensing", motion.shaking_mrad,
          0.35, log=True, least=0.1),
    Trait("effort_noise", "N·m", "what changes from frame to frame in the torques", "sensing", motion.effort_noise_nm,
          0.4, log=True, least=0.05),
    Trait("drag", "N·m", "torque that goes with the direction of motion", "actuation", motion.drag_nm, 1.0),
    Trait("tracker_noise", "mm", "jitter of the object while nobody touches it", "sensing", tracker.noise_mm, 0.2,
          log=True, least=0.1),
    Trait("tracker_turn", "°", "jitter of its orientation", "sensing", tracker.turn_noise_deg, 0.2, log=True,
          least=0.1),
    Trait("tracker_late", "ms", "how far the tracked object is behind the hand that carries it", "sensing",
          tracker.late_ms, 25.0),
    Trait("tracker_lost", "mm", "what a constant delay leaves of that", "sensing", tracker.lost_mm, 0.35, log=True,
          least=1.0),
    Trait("beside_x", "mm", "where the object is seen in the hand, along the robot's x", "sensing", tracker.beside_x_mm,
          2.0, spread=0.8),
    Trait("beside_y", "mm", "along its y", "sensing", tracker.beside_y_mm, 2.0, spread=0.8),
    Trait("grip", "N", "force of the fingers while they hold", "actuation", grip.force_n, 0.25, log=True, least=2.0),
    Trait("width", "mm", "opening of the fingers while they hold", "contact", grip.width_mm, 4.0, spread=0.8),
    Trait("slip", "mm", "how far the object moves in the hand", "contact", grip.slip_mm, 0.5, log=True, least=3.0),
    Trait("weight", "N", "what the arm carries more after the lift", "object", grip.weight_n, 4.0),
    Trait("pushed", "mm", "how far the object moves while the fingers close", "contact", grip.pushed_mm, 0.5, log=True,
          least=2.0),
    Trait("moved", "mm", "how far the object moves before it is touched", "human", scene.moved_mm, 0.3, log=True,
          least=4.0),
    Trait("was_moved", "1", "whether it moved by itself before it was touched", "human", scene.was_moved, 0.03),
    Trait("place_x", "cm", "where the object is laid, along x", "environment", scene.place_x_cm, 0.6, spread=0.15),
    Trait("place_y", "cm", "along y", "environment", scene.place_y_cm, 0.6, spread=0.15),
    Trait("turned", "°", "how the object is turned", "environment", scene.turned_deg, 0.35, log=True, least=2.0),
    Trait("goal_x", "cm", "where the goal is, along x", "environment", scene.goal_x_cm, 0.5, spread=0.3),
    Trait("goal_y", "cm", "along y", "environment", scene.goal_y_cm, 0.5, spread=0.3),
    Trait("height", "mm", "how high the object stands", "environment", scene.height_mm, 1.0, spread=0.5),
    Trait("other_object", "1", "the object is of another kind", "object", scene.other_object, 0.03),
    Trait("poor_light", "1", "the light was not as usual", "visual", scene.poor_light, 0.03),
    Trait("brightness", "%", "how bright pictures are", "visual", look.brightness_percent, 4.0, spread=0.5),
    Trait("contrast", "%", "how much light and dark differ in a picture", "visual", look.contrast_percent, 0.2,
          log=True, least=1.0),
    Trait("saturation", "%", "how colourful pictures are", "visual", look.saturation_percent, 5.0),
    Trait("warmth", "%", "how much redder than blue they are", "visual", look.warmth_percent, 3.0),
    Trait("sharpness", "%", "how much neighbouring pixels differ", "visual", look.sharpness_percent, 0.3, log=True,
          least=0.2),
    Trait("person", "1", "somebody was there", "human", scene.person, 0.03),
    Trait("duration", "s", "how long it took", None, scene.duration_s, 0.15, log=True, least=1.0),
    Trait("success", "1", "it succeeded", None, scene.succeeded, 0.12),
    Trait("grasped", "1", "the object was lifted", None, scene.grasped, 0.12),
)  # fmt: skip


def measure_traits(episodes: Sequence[EpisodeTrace]) -> np.ndarray:
    """(n, traits) values of all episodes; NaN where a trait is unknown."""
    out = np.full((len(episodes), len(TRAITS)), np.nan)
    for row, shown in enumerate(episodes):
        if shown.rows < 3:
            continue
        out[row] = [trait.of(shown) for trait in TRAITS]
    return out
