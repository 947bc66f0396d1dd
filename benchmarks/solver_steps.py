"""Measure how many steps the contact solver needs: accepted episodes of the expert for each number of steps.

    python benchmarks/solver_steps.py [--episodes 64]

All other rows of `randomization: realistic` vary. They make contacts that need more steps than a grasp with nominal
values. The lower end of the row `solver_iterations` follows from these figures.
"""

import argparse
import json
from pathlib import Path

from twinloop.curate.judge import judge
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

RESULTS = Path(__file__).parent / "results" / "solver_steps.json"
ROBOTS, STEPS = ("franka_panda", "so101"), (4, 5, 6, 8, 12, 20)
SEED = 86_000
TEXT = """
scene: {{robot: {robot}, task: pick_and_place}}
rollout: {{seed: {seed}}}
randomization: {{preset: realistic, physics: {{solver_iterations: {steps}}}}}
"""


def accepted(robot: str, steps: int, episodes: int) -> int:
    config = config_from_text(TEXT.format(robot=robot, seed=SEED, steps=steps), name=f"{robot}.yaml", folder=Path())
    twin, width = twin_of(config), min(episodes, 64)
    cell, expert = Cell(twin, width=width), Expert(twin, config.expert, width=width, seed=SEED)
    (made,) = rollout(cell, iter([config.sampler().draw(0, episodes)]), expert, seed=SEED)
    return int(judge(made, twin, config.curate).accepted.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=64)
    episodes = parser.parse_args().episodes
    counts: dict[str, dict[int, int]] = {}
    for robot in ROBOTS:
        counts[robot] = {steps: accepted(robot, steps, episodes) for steps in STEPS}
        print(robot, counts[robot], flush=True)
    RESULTS.write_text(json.dumps({"episodes": episodes, "seed": SEED, "accepted": counts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
