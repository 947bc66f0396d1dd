"""Measure how much more even coverage is after `generate --fill` than after as many ordinary episodes.

    python benchmarks/fill.py [--set figure] [--episodes 600] [--more 300] [--into FILE] [--json]

The cell is hard in one corner: heavy objects with little friction slip out of a weak gripper, so most attempts there
are rejected. 600 ordinary attempts are made, then 300 more in two ways: by `--fill`, and ordinary ones of another seed.
Coverage of the accepted episodes is compared on the same 4 × 4 cells of every pair of drawn columns:

1. variation: coefficient of variation of accepted episodes over cells (root mean square over pairs);
2. emptiest cell: accepted episodes in the emptiest cell, relative to the mean.

`--set work` has other seeds, for development. Five minutes on 2 cores.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.worth import DrawnEpisodes, drawn_episodes, filled_config
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

SEEDS = {"work": (301,), "figure": (401, 411, 421)}
CELL = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics:
    object_mass_kg: [0.05, 2.0]
    friction_coefficient: [0.1, 0.9]
    grip_force_scale: [0.3, 1.0]
    object_position_noise_cm: [-4, 4]
"""
SIDE = 4


def evenness(drawn: DrawnEpisodes) -> dict[str, float]:
    variances, emptiest = [], np.inf
    for pair in combinations(drawn.points, 2):
        first, second = (np.minimum((drawn.points[column] * SIDE).astype(int), SIDE - 1) for column in pair)
        counts = np.bincount((first * SIDE + second)[drawn.accepted], minlength=SIDE**2)
        variances.append(np.var(counts) / np.mean(counts) ** 2)
        emptiest = min(emptiest, float(counts.min() / counts.mean()))
    return {
        "attempts": len(drawn.accepted), "accepted": int(drawn.accepted.sum()),
        "variation": round(float(np.sqrt(np.mean(variances))), 4), "emptiest": round(emptiest, 4),
    }  # fmt: skip


def measured(seed: int, out: Path, *, episodes: int, more: int) -> dict[str, Any]:
    config = config_from_text(CELL, name="cell", folder=Path())
    generate(config.with_seed(seed), out / "first", episodes=episodes, workers=2)
    fill = filled_config([out / "first"], episodes=more)
    generate(fill, out / "fill", episodes=more, workers=2)
    generate(config.with_seed(fill.rollout.seed), out / "ordinary", episodes=more, workers=2)
    result = {
        "seed": seed, "regions": len(fill.fill.regions if fill.fill else ()),
        "first": evenness(drawn_episodes([out / "first"])),
        "filled": evenness(drawn_episodes([out / "first", out / "fill"])),
        "ordinary": evenness(drawn_episodes([out / "first", out / "ordinary"])),
    }  # fmt: skip
    print(json.dumps(result), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="figure", choices=list(SEEDS))
    parser.add_argument("--episodes", type=int, default=600)
    parser.add_argument("--more", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("out/fill"))
    parser.add_argument("--into", type=Path, help="write the results to this file")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    runs = [measured(seed, args.out / str(seed), episodes=args.episodes, more=args.more) for seed in SEEDS[args.set]]
    keys = ("variation", "emptiest", "accepted")
    means = {
        which: {key: round(float(np.mean([run[which][key] for run in runs])), 4) for key in keys}
        for which in ("first", "filled", "ordinary")
    }
    results = {"set": args.set, "episodes": args.episodes, "more": args.more, "mean": means, "runs": runs}
    if args.into:
        args.into.write_text(json.dumps(results, indent=1) + "\n")
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
