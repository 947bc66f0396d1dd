"""Measure how much the summary of a policy differs between the twin and other physics engines.

    python benchmarks/engine_spread.py [--scenes 0 1 2] [--cells 2] [--episodes 16]

The policies of `benchmarks/diagnosis.py` run in rehearsal cells of both engines in which no gap is open: the empty
cells of `FORMER_SEEDS`, and in the first scene cells of `WORK_SEEDS`, with numbers of their own within tolerances and
within `FOREIGN` times the tolerances, as if the twin were a poor model of the robot. Writes
twinloop/diagnose/engine_spread.json, which a diagnosis uses as its noise floor. Runlogs stay in DIR, so a stopped run
continues. About half a CPU minute per cell, and 6 before the first of a scene.
"""

import argparse
import json
from pathlib import Path

from diagnosis import ENGINES, FORMER_SEEDS, SCENES, WORK_SEEDS, Case, cases, policy_of

import twinloop as tl
from twinloop.dataset import Dataset
from twinloop.diagnose.counterfactuals import CounterfactualJob, simulate_counterfactuals
from twinloop.diagnose.engine_spread import measured_difference, spread_of
from twinloop.diagnose.hypothesis import NOTHING
from twinloop.diagnose.hypothesis_set import chunk_of
from twinloop.diagnose.robot_episodes import read_episodes
from twinloop.diagnose.summary import TraitSummary, summarise
from twinloop.diagnose.traits import Arm, measure_traits
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.diagnose import DiagnoseConfig
from twinloop.run.config import load_config
from twinloop.run.twin import twin_of

TARGET = Path(__file__).parents[1] / "twinloop" / "diagnose" / "engine_spread.json"
TWIN_EPISODES = 48
FOREIGN = 2.0


def twin_summary(policy: Path, config: Path) -> TraitSummary:
    """The policy in the unchanged twin."""
    job = CounterfactualJob(
        load_config(config).to_yaml(), str(Path.cwd()), candidate_of(policy).load, ActingConfig(), TWIN_EPISODES,
        DiagnoseConfig.seed,
    )  # fmt: skip
    ((_, (cell,)),) = simulate_counterfactuals(job, [chunk_of(NOTHING)])
    return summarise(cell.traits)


def log_summary(log: Path, policy: Path, config: Path) -> TraitSummary:
    twin, runlog = twin_of(load_config(config)), load_runlog(log)
    episodes = all_episodes([runlog])
    _, traces = read_episodes([Dataset.open(runlog.path)], episodes, candidate_of(policy), Arm(twin), twin.robot.name)
    return summarise(measure_traits(traces))


def _case(place: int, scene: int) -> Case:
    """Cells alternate between the engines, and every other cell of an engine has large tolerances."""
    own = FOREIGN if place // len(ENGINES) % 2 else 1.0
    return Case(WORK_SEEDS[place], ENGINES[place % len(ENGINES)], scene, "spread", own=own)


def cells_of(scene: int, count: int) -> list[Case]:
    """The cells of a scene: the empty ones of an earlier figure; of the first scene also `count` of each engine."""
    own = [_case(place, scene) for place in range(count * len(ENGINES))] if scene == 0 else []
    return own + [case for case in cases(FORMER_SEEDS) if case.kind == "none" and case.scene == scene]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, nargs="+", default=list(range(len(SCENES))))
    parser.add_argument("--cells", type=int, default=2, help="cells of each engine from work seeds, in the first scene")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    args = parser.parse_args()
    cells = []
    for number in args.scenes:
        scene = SCENES[number]
        policy, config = policy_of(scene, args.out)
        twin, weight_n = twin_summary(policy, config), Arm(twin_of(load_config(config))).weight_n
        for case in cells_of(number, args.cells):
            log = args.out / "runlogs" / case.name
            tl.deploy(policy, case.robot, log, episodes=args.episodes, task=scene.task)
            entries = measured_difference(log_summary(log, policy, config), twin)
            name = case.robot.removeprefix("rehearsal:")
            cells.append({
                "cell": name, "robot": scene.robot, "episodes": args.episodes, "arm_weight_n": weight_n,
                "entries": entries,
            })  # fmt: skip
            print(case.robot, f"success {entries['success']['difference']:+.2f}", flush=True)
    rounded = json.loads(json.dumps({"cells": cells}), parse_float=lambda text: float(f"{float(text):.4g}"))
    TARGET.write_text(json.dumps(rounded, indent=1) + "\n")
    spread = spread_of(cells)
    print(f"{len(cells)} cells; typical difference {spread.relative:.2f} of the deviation between episodes")


if __name__ == "__main__":
    main()
