"""Effects of a rehearsal cell that no row of the parameter table describes. Diagnosis has no hypothesis for them.

An effect changes the cell through hooks that `world.py` calls; by default a hook changes nothing. Sizes go from 0 to 1.
All of an effect's randomness comes from the cell's seed and the episode number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

CABLE_N, CABLE_N_M, SLACK_M = 3.0, 40.0, 0.3
"""Constant pull of the cable, its stiffness, and the distance at which it is no longer slack."""
FULL_PULL_NM = 60.0
"""An arm whose strongest joint has this torque feels the whole pull; weaker arms have thinner cables."""
BREAKAWAY_RAD, CREEP_RAD_S = 0.012, 0.01
SHAKE_M_S2, SHAKE_HZ = 6.0, (8.0, 13.0)
BROWN_OUTS_PER_S, BROWN_OUT_S = 0.3, (0.2, 0.6)
SWAPS_PER_S, SWAP_S = 0.3, (0.4, 1.5)
LEAN_M, LEAN_RAD, LEAN_RAMP_S = 0.006, 0.012, 0.4
WORST_PAD, OTHER_PAD = 0.15, 0.7
"""Friction of the two finger pads at size 1, relative to new ones."""


@dataclass(frozen=True)
class EffectScene:
    """The parts of a cell that an effect may read.

    Attributes:
        base_m: where the first arm stands.
        strongest_nm: torque limit of the strongest joint.
        joints: number of joints of all arms.
        things: columns of the poses of things in the environment state.
        poses: columns of the poses of all entities.
    """

    base_m: np.ndarray
    strongest_nm: float
    joints: int
    things: tuple[int, ...]
    poses: tuple[int, ...]


class EffectRun:
    """An effect during one episode."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        self.size, self.scene, self.rng = size, scene, rng

    def setpoint(self, now_s: float, setpoint: np.ndarray, position: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Change the targets of the servos, once per physics step. The openings come after the joints."""
        return setpoint

    def tool_force_n(self, tool_m: np.ndarray) -> np.ndarray | None:  # noqa: ARG002
        """Return the force on the first arm's hand in the world, if any."""
        return None

    def shake_m_s2(self, now_s: float) -> np.ndarray | None:  # noqa: ARG002
        """Return the acceleration of the table, if any."""
        return None

    def table_pose(self, now_s: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Return how far the table has sunk (m) and tilted about y (rad), if at all."""
        return None

    def tracked(self, now_s: float, environment: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Change the environment state that the tracker reports."""
        return environment


class Cable(EffectRun):
    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._anchor_m = scene.base_m + np.array([-0.1, rng.choice([-0.35, 0.35]), 0.6])
        self._share = size * min(1.0, scene.strongest_nm / FULL_PULL_NM)

    def tool_force_n(self, tool_m: np.ndarray) -> np.ndarray:
        way_m = self._anchor_m - tool_m
        length_m = float(np.linalg.norm(way_m))
        return self._share * (CABLE_N + CABLE_N_M * max(0.0, length_m - SLACK_M)) * way_m / length_m


class StickSlip(EffectRun):
    """A joint stays where it is until its servo's error exceeds the breakaway angle, and then slips free."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._breakaway_rad = size * BREAKAWAY_RAD * rng.uniform(0.5, 1.5, scene.joints)
        self._stuck_at: np.ndarray | None = None
        self._stuck = np.ones(scene.joints, bool)
        self._before: np.ndarray | None = None

    def setpoint(self, now_s: float, setpoint: np.ndarray, position: np.ndarray) -> np.ndarray:  # noqa: ARG002
        joints = slice(self.scene.joints)
        arm = position[joints]
        if self._stuck_at is None or self._before is None:
            self._stuck_at = arm.copy()
        else:
            # Per physics step of 4 ms.
            slow = np.abs(arm - self._before) < CREEP_RAD_S * 0.004
            arrived = np.abs(setpoint[joints] - arm) < self._breakaway_rad / 3
            sticks = ~self._stuck & slow & arrived
            self._stuck_at[sticks] = arm[sticks]
            self._stuck |= sticks
        self._before = arm.copy()
        self._stuck &= np.abs(setpoint[joints] - self._stuck_at) < self._breakaway_rad
        held = setpoint.copy()
        held[joints] = np.where(self._stuck, self._stuck_at, setpoint[joints])
        return held


class Vibration(EffectRun):
    """The table shakes sideways. Things on it are shaken, and the tracker sees them move."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._rate = 2 * np.pi * rng.uniform(*SHAKE_HZ)
        angle = rng.uniform(0, np.pi)
        self._way = np.array([np.cos(angle), np.sin(angle), 0.3])
        self._phase = rng.uniform(0, 2 * np.pi)

    def shake_m_s2(self, now_s: float) -> np.ndarray:
        return self.size * SHAKE_M_S2 * np.sin(self._rate * now_s + self._phase) * self._way

    def tracked(self, now_s: float, environment: np.ndarray) -> np.ndarray:
        moved_m = -self.shake_m_s2(now_s) / self._rate**2
        for column in self.scene.things:
            environment[column : column + 3] += moved_m
        return environment


class WornPad(EffectRun):
    """Acts when the cell is built, see `worn_pads`."""


class BrownOut(EffectRun):
    """The supply fails for a moment: motors and gripper have no force and stay where they are."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._spans = _spans(rng, size * BROWN_OUTS_PER_S, BROWN_OUT_S)

    def setpoint(self, now_s: float, setpoint: np.ndarray, position: np.ndarray) -> np.ndarray:
        return position.copy() if _within(self._spans, now_s) else setpoint


class TrackerSwap(EffectRun):
    """The tracker takes two entities for each other, at least one of them a thing."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._spans = _spans(rng, size * SWAPS_PER_S, SWAP_S)
        first = int(rng.choice(scene.things))
        others = [column for column in (scene.things if len(scene.things) > 1 else scene.poses) if column != first]
        self._pair = (first, int(rng.choice(others))) if others else None

    def tracked(self, now_s: float, environment: np.ndarray) -> np.ndarray:
        if self._pair is not None and _within(self._spans, now_s):
            (a, b), size = self._pair, 3
            environment[a : a + size], environment[b : b + size] = (
                environment[b : b + size].copy(),
                environment[a : a + size].copy(),
            )
        return environment


class Lean(EffectRun):
    """A person leans on the table for some seconds: it sinks and tilts, with everything on it."""

    def __init__(self, size: float, scene: EffectScene, rng: np.random.Generator):
        super().__init__(size, scene, rng)
        self._from_s = float(rng.uniform(0.5, 3.0))
        self._until_s = self._from_s + float(rng.uniform(3.0, 8.0))
        self._side = float(rng.choice([-1.0, 1.0]))

    def table_pose(self, now_s: float) -> tuple[float, float]:
        share = np.clip((now_s - self._from_s) / LEAN_RAMP_S, 0, 1) - np.clip(
            (now_s - self._until_s) / LEAN_RAMP_S, 0, 1
        )
        share = float(share * share * (3 - 2 * share))
        return share * self.size * LEAN_M, share * self.size * LEAN_RAD * self._side


def _spans(rng: np.random.Generator, per_s: float, length_s: tuple[float, float]) -> list[tuple[float, float]]:
    """Draw the spans of an event that comes at this rate, for the first two minutes."""
    starts = np.cumsum(rng.exponential(1 / max(per_s, 1e-6), 64))
    lengths = rng.uniform(*length_s, 64)
    return [(float(a), float(a + b)) for a, b in zip(starts, lengths, strict=True) if a < 120]


def _within(spans: Sequence[tuple[float, float]], now_s: float) -> bool:
    return any(start <= now_s < end for start, end in spans)


@dataclass(frozen=True)
class Effect:
    """A row of the table of effects."""

    name: str
    help: str
    run: Callable[[float, EffectScene, np.random.Generator], EffectRun]


EFFECTS = (
    Effect("cable", "a cable pulls the wrist back and to one side, harder the farther it reaches", Cable),
    Effect("stick_slip", "joints stick until the servo's error exceeds 6 to 18 mrad, and then jump", StickSlip),
    Effect("vibration", "the table shakes at 8 to 13 Hz with up to 6 m/s²", Vibration),
    Effect("worn_pad", "one finger pad is worn smooth (0.15 of its friction), the other partly (0.7)", WornPad),
    Effect("brown_out", "motors and gripper lose their force for 0.2 to 0.6 s, about every 3 s", BrownOut),
    Effect("tracker_swap", "the tracker confuses two entities for 0.4 to 1.5 s, about every 3 s", TrackerSwap),
    Effect("lean", "a person leans on the table for seconds: it sinks by 6 mm and tilts by 0.7°", Lean),
)
BY_EFFECT = {effect.name: effect for effect in EFFECTS}
EFFECT_SHARE, SMALLEST_DRAWN = 1 / 3, 0.3


def drawn_effects(rng: np.random.Generator) -> dict[str, float]:
    """Draw the effects of a random cell: in a third of the cells one effect, with a size from 0.3 to 1."""
    chance, number, size = rng.random(), int(rng.integers(len(EFFECTS))), float(rng.uniform(SMALLEST_DRAWN, 1))
    return {EFFECTS[number].name: size} if chance < EFFECT_SHARE else {}


def worn_pads(effects: Mapping[str, float]) -> tuple[float, float]:
    """Return the friction of the left and the right finger pad, relative to new ones."""
    size = effects.get("worn_pad", 0.0)
    return 1 - size * (1 - WORST_PAD), 1 - size * (1 - OTHER_PAD)
