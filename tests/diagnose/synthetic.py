"""A made-up bank: causes with known effects on a few traits, and logs of cells in which some of them hold."""

import numpy as np

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.causes import Cause, hypothesis_of
from twinloop.diagnose.engine_spread import EngineSpread
from twinloop.diagnose.hypothesis import NOTHING
from twinloop.diagnose.summary import NAMES
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.table import BY_NAME

EFFECTS: dict[tuple[str, str], dict[str, float]] = {
    ("friction_coefficient", "low"): {"slip": 1.2, "settling": 0.6, "dropped": 0.25, "success": -0.25},
    ("lighting_intensity", "low"): {"poor_light": 0.3},
    ("tracker_delay_ms", "high"): {"tracker_late": 60.0, "success": -0.1},
    ("tracker_noise_mm", "high"): {"tracker_noise": 1.2},
    ("object_mass_kg", "high"): {"weight": 5.0, "slip": 0.3},
    ("object_yaw_deg", "spread"): {"turned": 1.5, "success": -0.2},
    ("object_shift_probability", "share"): {"was_moved": 0.5, "person": 0.5, "success": -0.3},
    ("servo_stiffness_scale", "low"): {"softness": 2.0, "following": 10.0, "offset": 0.5, "success": -0.1},
    ("action_delay_ms", "high"): {"following": 60.0, "onset": 60.0, "success": -0.15},
    ("command_loss_share", "high"): {"stalled": 0.03, "uneven": 0.2},
}
"""What each cause changes at size 1, on the scale of comparison."""
USUAL = {"success": 1.0, "grasped": 1.0, "following": 80.0, "onset": 80.0, "grip": 4.0, "duration": 1.4}
NOISE = {"weight": 1.5, "turned": 0.1, "following": 2.0, "onset": 5.0}


def causes() -> tuple[Cause, ...]:
    return tuple(Cause(row, side, (BY_NAME[row].nominal,) * 2) for row, side in EFFECTS)  # pyright: ignore[reportArgumentType]


def made_up(sizes: dict[str, float], episodes: int, *, seed: int) -> np.ndarray:
    """(episodes, traits) of a cell with these sizes of rows. Cells of one seed have the same scenes."""
    rng = np.random.default_rng(seed)
    traits = np.full((episodes, len(TRAITS)), np.nan)
    for place, trait in enumerate(TRAITS):
        if trait.covariate or trait.name in ("brightness", "contrast", "saturation", "warmth", "sharpness"):
            continue
        level = USUAL.get(trait.name, 0.0)
        level += sum(sizes.get(row, 0.0) * effect.get(trait.name, 0.0) for (row, _), effect in EFFECTS.items())
        noise = rng.standard_normal(episodes)
        if trait.unit == "1":
            traits[:, place] = rng.random(episodes) < np.clip(level, 0, 1)
        elif trait.log:
            traits[:, place] = np.exp(level + 0.1 * noise)
        else:
            traits[:, place] = level + NOISE.get(trait.name, 0.2) * noise
    return traits


def made_up_bank(episodes: int = 24) -> Bank:
    reference = CounterfactualCell(NOTHING, made_up({}, 3 * episodes, seed=0))
    cells = []
    for cause in causes():
        for size in (0.75, 1.5, 3.0):
            size = min(size, cause.max_size)
            cells.append(CounterfactualCell(hypothesis_of([(cause, size)]), _same_scenes({cause.row: size}, episodes)))
    for one, other in zip(causes()[::2], causes()[1::2], strict=True):
        sizes = {one.row: 0.8, other.row: 0.8}
        cells.append(CounterfactualCell(hypothesis_of([(one, 0.8), (other, 0.8)]), _same_scenes(sizes, episodes)))
    return Bank(causes(), reference, tuple(cells))


def _same_scenes(sizes: dict[str, float], episodes: int) -> np.ndarray:
    return made_up(sizes, 3 * episodes, seed=0)[:episodes]


def small_spread(relative: float = 0.2, cells: int = 4) -> EngineSpread:
    """Engines that differ by a fifth of the variation between episodes."""
    return EngineSpread(np.zeros(len(NAMES)), np.full(len(NAMES), float(cells)), relative)
