"""What is known after a fit, and what that predicts: bands around a replay."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.patch import TwinPatch
from twinloop.calibrate.plant import Plant
from twinloop.calibrate.replay import Replay, difference, held_against

DRAWS = 24
"""Parameter sets of the posterior that a band is made of."""


def replay_with_band(bench: Bench, logs: Sequence[Log], patch: TwinPatch, *, threads: int = 2) -> Replay:
    """A replay at the patch's values, with the 90 % band of what the twin then expects to be measured.

    The band holds the posterior's draws, each with the spread that was left between twin and logs where the fit had
    not looked.
    """
    names = tuple(patch.values)
    plant = Plant(bench, logs, names, threads=threads)
    draws = min([DRAWS, *(len(patch.samples[name]) for name in names if name in patch.samples)])
    sets = [[patch.values[name] for name in names]]
    for draw in range(draws if patch.samples else 0):
        sets.append([patch.samples[name][draw] if name in patch.samples else patch.values[name] for name in names])
    simulated = plant.simulate(np.array(sets))
    found = held_against(plant, simulated, patch.values)
    coverage, traces = {}, list(found.traces)
    for channel in bench.compared:
        if channel.name not in patch.spread or channel.of == "turn":
            continue
        low, high = patch.spread[channel.name]
        inside = []
        for place, track in enumerate(plant.tracks):
            rows = simulated[channel.name][:, place, : track.frames]
            logged = (rows - channel.offset) / channel.scale
            # The draws' own spread about the best value widens what was left over.
            spread = logged[1:].std(axis=0) if len(logged) > 1 else np.zeros_like(logged[0])
            centre = logged[0]
            bottom, top = centre - np.hypot(low, 1.645 * spread), centre + np.hypot(high, 1.645 * spread)
            off = -difference(channel, rows[0], track.measured[channel.name])
            known = np.isfinite(off).all(axis=-1)
            inside.append(((off >= bottom - centre) & (off <= top - centre))[known])
            traces[place] = replace(
                traces[place],
                low={**traces[place].low, channel.name: bottom},
                high={**traces[place].high, channel.name: top},
            )
        coverage[channel.name] = float(np.concatenate(inside).mean())
    return replace(found, coverage=coverage, traces=tuple(traces))
