"""LiveSensors: current sensor values of every slot, for a policy that acts on them.

It stores the states of the running episodes in the precision of recorded states and applies the same errors and the
same arithmetic as a recording does. So a policy sees exactly the values that are recorded.
"""

from collections.abc import Callable

import numpy as np

from twinloop.observe.features import SOURCES
from twinloop.observe.sensor_errors import NEUTRAL, errors_of
from twinloop.observe.sensors import SEEN, ObserveConfig, differentiated, is_plain, tell, thing_columns
from twinloop.randomize.draw import Draws
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import channels_of
from twinloop.twin.twin import Twin

# Channels in the form in which the tape has them.
TRUE: dict[str, Callable[[Cell], np.ndarray]] = {
    "position": lambda cell: np.column_stack([cell.arm_position_rad, cell.opening]),
    "velocity": lambda cell: np.column_stack([cell.arm_velocity_rad_s, cell.opening_velocity]),
    "effort": lambda cell: np.column_stack([cell.arm_effort_nm, cell.gripper_effort_n]),
    "environment": lambda cell: cell.environment(),
    "wrench": lambda cell: cell.wrench,
    "inertial": lambda cell: cell.inertial,
    "touch": lambda cell: cell.touch_n,
    "nodes": lambda cell: cell.nodes.reshape(cell.width, -1),
}


def _neutral(name: str, frames: int) -> np.ndarray | float:
    """The value of an error that an episode does not have; for the time that each frame shows, that of the frame."""
    _, slash, kind = name.partition("/")
    return NEUTRAL[kind] if slash else np.arange(frames, dtype=float)


class LiveSensors:
    """Live sensor values of a cell's slots for these features; by default all features that sensors measure."""

    def __init__(
        self, twin: Twin, config: ObserveConfig, *, width: int, seed: int, features: tuple[str, ...] | None = None
    ):
        self.twin, self.config, self.seed, self.width = twin, config, seed, width
        known = {name: str(channel) for name, channel in SOURCES.items() if channel in SEEN}
        there = channels_of(twin)
        known = {name: channel for name, channel in known.items() if channel in there}
        self.features = {name: known[name] for name in (known if features is None else features)}
        # A differentiated velocity needs positions, even if no feature reads them.
        self._channels = list(dict.fromkeys([*self.features.values(), "position"]))
        self._slots = np.arange(width)
        self._tick = np.zeros(width, int)
        self._plain = True
        self._errors: dict[str, np.ndarray] = {}
        self._past: dict[str, np.ndarray] = {}
        self._before: np.ndarray | None = None

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self._tick[ids] = 0
        if is_plain(draws, self.config, self.twin):
            # The slot may have had an episode with errors before.
            for name, values in self._errors.items():
                values[ids] = _neutral(name, self.twin.longest_ticks)
            return
        # One episode at a time: each has its own generator, independent of its slot.
        for slot, row in zip(ids, rows, strict=True):
            errors = errors_of(self.twin, draws, int(row), seed=self.seed)
            self._plain = False
            for name, values in errors.items():
                if name not in self._errors:
                    neutral = _neutral(name, self.twin.longest_ticks)
                    self._errors[name] = np.full((self.width, *values.shape), neutral, float)
            for name, values in self._errors.items():
                values[slot] = errors.get(name, _neutral(name, self.twin.longest_ticks))

    def look(self, cell: Cell, ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Feature -> (slots, elements) float32, of this control period. Call once in each period of a slot.

        Args:
            ids: the slots to read; None for all.
        """
        slots = self._slots if ids is None else ids
        part = slice(None) if ids is None else ids  # a slice copies nothing
        true = {channel: TRUE[channel](cell)[part].astype(np.float32) for channel in self._channels}
        seen = true if self._plain else self._through(true, slots)
        self._tick[slots] += 1
        return {name: seen[channel].astype(np.float32) for name, channel in self.features.items()}

    def _through(self, true: dict[str, np.ndarray], slots: np.ndarray) -> dict[str, np.ndarray]:
        # A slot whose episode has ended is read once more, and that result is not used.
        tick = np.minimum(self._tick[slots], self.twin.longest_ticks - 1)
        for channel, values in true.items():
            if channel not in self._past:
                shape = (self.width, self.twin.longest_ticks, values.shape[1])
                self._past[channel] = np.zeros(shape, np.float32)
            self._past[channel][slots, tick] = values
        errors = {name: values[slots, tick] for name, values in self._errors.items()}
        errors["things"] = thing_columns(self.twin)
        measured = tell(
            errors, tick, lambda channel, when: self._past[channel][slots, when].astype(float), self._channels
        )
        if self.config.velocity == "differentiated":
            position = measured["position"]
            if self._before is None:
                self._before = np.zeros((self.width, position.shape[1]))
            before = np.where((tick == 0)[:, None], position, self._before[slots])
            self._before[slots] = position
            measured["velocity"] = differentiated(position, before, self.twin)
        return measured
