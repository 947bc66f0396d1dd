"""Objective: residuals between twin and logs, for many parameter sets at once.

A fit variable is scaled to a place from 0 (lower bound) to 1 (upper bound). The variables of one servo hardly affect
other joints. So each joint is a block: its variables are fitted to its own channels, and all blocks are fitted in the
same simulations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.loads import can_decouple
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import difference
from twinloop.calibrate.sweep import HERE, Where

MIN_PRIOR_WEIGHT = 0.1
SAMPLES = 400
"""At most this many residuals per log and channel element; neighbouring frames are correlated."""


@dataclass(frozen=True)
class Block:
    """Variables that are fitted together, as indices, and the channels they are fitted to."""

    name: str
    variables: np.ndarray
    channels: tuple[str, ...]


def blocks_of(bench: Bench, names: Sequence[str]) -> list[Block]:
    channels = tuple(channel.name for channel in bench.compared)
    driven = bench.drive.joints if bench.drive is not None else ()
    alone = all(name.rpartition(".")[0] in driven and name not in bench.places for name in names)
    if len(driven) < 2 or not alone:
        return [Block(bench.name, np.arange(len(names)), channels)]
    blocks = []
    for joint in driven:
        own = [place for place, name in enumerate(names) if name.rpartition(".")[0] == joint]
        seen = tuple(channel.name for channel in bench.compared if channel.joint == joint)
        if own and seen:
            blocks.append(Block(joint, np.array(own), seen))
    return blocks


class Objective:
    """Residuals, slopes and costs of some logs.

    Attributes:
        scale: unit of the residuals, one number per channel; the fit sets it to the RMS of the residuals.
        prior_weight: weight of the prior: the cost of a distance of the whole bounds from the values of the bench file.
        channel_of, log_of: channel and log of each residual.
    """

    def __init__(
        self,
        bench: Bench,
        logs: Sequence[Log],
        names: Sequence[str],
        *,
        where: Where = HERE,
        decoupled: bool | None = None,
    ):
        """`decoupled`: simulate each joint alone; None does so where it is possible."""
        self.bench, self.names, self.where = bench, tuple(names), where
        decoupled = can_decouple(bench, self.names) if decoupled is None else decoupled
        self.variables = [bench.variables[name] for name in names]
        self.plant = BenchSimulator(bench, logs, names, where=where, decoupled=decoupled)
        self.blocks = blocks_of(bench, names)
        self._kept, channel_of, log_of = {}, [], []
        frames = self.plant.frames
        every = max(1, -(-frames // SAMPLES))
        for number, channel in enumerate(bench.compared):
            mask = np.zeros((len(logs), frames), bool)
            for place, track in enumerate(self.plant.tracks):
                known = np.isfinite(track.measured[channel.name]).all(axis=1)
                mask[place, : track.frames] = known & (np.arange(track.frames) % every == 0)
            self._kept[channel.name] = mask
            width = 3 if channel.of == "turn" else len(channel.elements)
            count = int(mask.sum()) * width
            channel_of.append(np.full(count, number))
            log_of.append(np.repeat(np.nonzero(mask)[0], width))
        self.channel_of, self.log_of = np.concatenate(channel_of), np.concatenate(log_of)
        self.scale = np.ones(len(bench.compared))
        self.prior_weight = MIN_PRIOR_WEIGHT

    @property
    def start(self) -> np.ndarray:
        return np.array([float(variable.inward(np.array(variable.value))) for variable in self.variables])

    def prior_cost(self, places: np.ndarray, variables: np.ndarray) -> np.ndarray:
        """Cost of these variables under the prior, which is centred on the values of the bench file."""
        return self.prior_weight * np.square(places[..., variables] - self.start[variables]).sum(axis=-1)

    def values(self, places: np.ndarray) -> np.ndarray:
        places = np.atleast_2d(places)
        return np.stack([variable.outward(places[:, k]) for k, variable in enumerate(self.variables)], axis=1)

    def raw(self, places: np.ndarray) -> np.ndarray:
        """(sets, residuals) in the unit of each log."""
        simulated = self.plant.simulate(self.values(places))
        parts = []
        for channel in self.bench.compared:
            rows = simulated[channel.name]
            measured = np.full(rows.shape[1:], np.nan)
            for place, track in enumerate(self.plant.tracks):
                measured[place, : track.frames] = track.measured[channel.name]
            kept = self._kept[channel.name]
            off = difference(channel, rows[:, kept], measured[kept][None])
            parts.append(off.reshape(len(rows), -1))
        return np.nan_to_num(np.concatenate(parts, axis=1), nan=1e6, posinf=1e6, neginf=-1e6)

    def residuals(self, places: np.ndarray) -> np.ndarray:
        return self.raw(places) / self.scale[self.channel_of]

    def rescale(self, raw: np.ndarray) -> None:
        """Set the scale of each channel to the RMS of these residuals."""
        floors = np.array([self._floor(number) for number in range(len(self.scale))])
        for number in range(len(self.scale)):
            self.scale[number] = max(np.sqrt(np.mean(raw[self.channel_of == number] ** 2)), floors[number])

    def _floor(self, number: int) -> float:
        """The least scale of a channel: a ten-thousandth of its range."""
        channel = self.bench.compared[number]
        if channel.of == "turn":
            return 1e-3
        rows = np.concatenate([track.measured[channel.name] for track in self.plant.tracks]) / channel.scale
        return max(1e-4 * float(np.nanmax(rows) - np.nanmin(rows)), 1e-12)

    def of_block(self, block: Block) -> np.ndarray:
        """The residuals of the channels of a block, as a mask."""
        names = [channel.name for channel in self.bench.compared]
        return np.isin(self.channel_of, [names.index(name) for name in block.channels])

    def linearised(self, place: np.ndarray, *, step: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
        """Residuals at a place, and their (residuals, variables) slopes by finite differences. One simulation moves one
        variable of each block."""
        widest = max(len(block.variables) for block in self.blocks)
        sets, moved = np.repeat(place[None], widest + 1, axis=0), np.where(place + step <= 1, step, -step)
        for block in self.blocks:
            sets[1 + np.arange(len(block.variables)), block.variables] += moved[block.variables]
        residual, *others = self.residuals(sets)
        change = np.stack(others) - residual
        slopes = np.zeros((len(residual), len(place)))
        for block in self.blocks:
            rows = self.of_block(block)
            slopes[np.ix_(rows, block.variables)] = (
                change[: len(block.variables), rows] / moved[block.variables][:, None]
            ).T
        return residual, slopes


def robust_cost(residuals: np.ndarray) -> np.ndarray:
    """Pseudo-Huber cost, summed over the last axis: square for small residuals, linear for large ones."""
    return 2 * (np.sqrt(1 + residuals**2) - 1).sum(axis=-1)


def robust_weight(residuals: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(1 + residuals**2)
