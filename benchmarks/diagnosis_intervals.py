"""Compare estimated rows with their true values, and measure how much wider intervals must be than posteriors say.

    python benchmarks/diagnosis_intervals.py [--scenes 0 1 2] [--robots 24] [--at-most 1000]
    python benchmarks/diagnosis_intervals.py --tally

Two kinds of robots have known values:

- simulated robots (`simulated_robots.py`): the twin with known rows, and the measured difference to a rehearsal cell of
  another engine;
- the rehearsal cells of `FORMER_SEEDS`, of both engines.

Writes twinloop/diagnose/interval_scale.json, which a diagnosis uses, and counts how many truths the scaled intervals
hold: for robots that the scale was not measured with, because each robot is left out once. Policies, banks and runlogs
are those of benchmarks/diagnosis.py. About 5 CPU seconds per robot, and a minute for a cell that has no runlog yet. A
stopped run continues.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import diagnosis
import numpy as np
from diagnosis import FORMER_SEEDS, RESULTS, SCENES, Case, cases, policy_of, share, true_value
from simulated_robots import SimulatedRobot, engine_cells, simulated_robots, spread_without

import twinloop as tl
from twinloop.dataset import Dataset
from twinloop.diagnose.bank import Bank
from twinloop.diagnose.counterfactuals import CounterfactualJob, limited, simulate_counterfactuals
from twinloop.diagnose.diagnosis import Diagnosis, diagnose_traits, posterior_of
from twinloop.diagnose.emulator import Emulator, emulator_of
from twinloop.diagnose.engine_spread import EngineSpread
from twinloop.diagnose.findings import bounds_of, estimated_rows
from twinloop.diagnose.hypothesis_set import usual_of
from twinloop.diagnose.interval_scale import UNSCALED, error_of, scale_of
from twinloop.diagnose.make_bank import bank_key, make_bank
from twinloop.diagnose.robot_episodes import read_episodes
from twinloop.diagnose.traits import Arm, measure_traits
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.diagnose import DiagnoseConfig
from twinloop.randomize.parameter import GAPS
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig, load_config
from twinloop.run.twin import twin_of

FOLDER = RESULTS / "intervals"
TARGET = Path(__file__).parents[1] / "twinloop" / "diagnose" / "interval_scale.json"
SEED = 300
BINS = 5
COSTLY = 0.05


def bank_of(policy: Path, config: RunConfig, cache: Path) -> tuple[Bank, CounterfactualJob]:
    """The bank that `tl.diagnose` makes and stores for this policy, and the job that simulates its cells."""
    candidate, settings = candidate_of(policy), DiagnoseConfig()
    acting, size = ActingConfig(), {"levels": settings.cells, "episodes": settings.episodes, "seed": settings.seed}
    key = bank_key(policy=candidate.digest, config=config, cameras=(), acting=vars(acting), **size)
    job = limited(CounterfactualJob(
        config.to_yaml(), str(Path.cwd()), candidate.load, acting, settings.episodes, settings.seed, paired=True
    ))  # fmt: skip
    bank = make_bank(
        config, lambda chunks: simulate_counterfactuals(job, chunks), folder=cache / f"bank-{key}",
        levels=settings.cells, episodes=settings.episodes, seed=settings.seed,
    )  # fmt: skip
    return bank, job


def truth_of(robot: SimulatedRobot, config: RunConfig) -> dict[str, tuple[float, float]]:
    """Row -> range in a robot, of all rows: those that do not differ have that of the twin."""
    usual = {name: distribution.support() for name, distribution in usual_of(config).items()}
    return {row.name: (row.nominal, row.nominal) for row in TABLE} | usual | dict(robot.truth)


def compared(diagnosis: Diagnosis, config: RunConfig, truth: Mapping[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """The estimated rows that have a true value."""
    posterior, rows = posterior_of(diagnosis, config, scale=UNSCALED), []
    for gap in GAPS:
        for estimate, values in estimated_rows(gap, posterior):
            true = true_value(dict(truth), estimate.row, estimate.element, estimate.nominal, spread=estimate.spread)
            if true is None:
                continue
            row = BY_NAME[estimate.row]
            is_share = row.chance is not None or bool(row.words or row.pool)
            bounds = bounds_of(row, "spread" if estimate.spread else "share" if is_share else "high")
            rank = (np.mean(values < true) + np.mean(values <= true)) / 2
            rows.append({
                "gap": gap, "row": estimate.row, "value": estimate.value,
                "interval": list(estimate.interval), "true": true, "rank": round(float(rank), 3),
                "error": round(error_of(estimate.value, estimate.interval, true, bounds), 3),
            })  # fmt: skip
    return rows


def diagnosed_cell(case: Case, out: Path, episodes: int) -> dict[str, Any]:
    """The estimated rows of a rehearsal cell; all that have a true value, also in gaps that are shut."""
    scene = SCENES[case.scene]
    policy, config_file = policy_of(scene, out)
    config, log = load_config(config_file), out / "runlogs" / case.name
    tl.deploy(policy, case.robot, log, episodes=episodes, task=scene.task)
    bank, job = bank_of(policy, config, out / "banks")
    twin, runlog = twin_of(config), load_runlog(log)
    arm, datasets = Arm(twin), [Dataset.open(runlog.path)]
    _, traces = read_episodes(datasets, all_episodes([runlog]), candidate_of(policy), arm, twin.robot.name)
    spread = spread_without(case.robot.removeprefix("rehearsal:"), scene.robot)
    result = diagnose_traits(
        measure_traits(traces, job.longest_s), emulator_of(bank), seed=DiagnoseConfig.seed, spread=spread,
        arm_weight_n=arm.weight_n,
    )  # fmt: skip
    rows = compared(result, config, diagnosis.truth_of(case))
    return {"cell": case.name, "gaps": list(case.gaps), "rehearsal": True, "rows": rows}


def diagnosed(robot: SimulatedRobot, emulator: Emulator, config: RunConfig, spread: EngineSpread) -> dict[str, Any]:
    """The estimated rows of a robot, its loss, and what the diagnosis says about each gap."""
    diagnosis = diagnose_traits(robot.traits, emulator, seed=DiagnoseConfig.seed, spread=spread)
    lost = emulator.usual_success - diagnosis.success.value
    return {
        "cell": robot.name, "gaps": robot.gaps, "truth": robot.truth, "engine": robot.engine, "lost": round(lost, 3),
        "points": dict(zip(GAPS, np.round(100 * diagnosis.costs.mean, 1).tolist(), strict=False)),
        "probability": dict(zip(GAPS, np.round(diagnosis.costs.probability(0.02), 3).tolist(), strict=False)),
        "unmodelled": round(float(diagnosis.explanations.unmodelled.mean()), 3),
        "engine_scale": round(diagnosis.explanations.engine_scale, 3),
        "rows": compared(diagnosis, config, truth_of(robot, config)),
    }  # fmt: skip


def left_out(rows: list[dict[str, Any]]) -> list[bool]:
    """For each row: whether its truth is in its interval, widened by the scale of all other robots."""
    hits = []
    for row in rows:
        scale = scale_of([other for other in rows if other["cell"] != row["cell"]])
        hits.append(row["error"] <= scale.factors[row["gap"]])
    return hits


def known_rows(robots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Estimated rows whose truth is known: all of a rehearsal cell, and those of the open gaps of a simulated robot.

    The cell whose difference is added to a simulated robot has servos and masses of its own, so the other gaps have no
    known truth there.
    """
    return [
        {"cell": robot["cell"], "rehearsal": "rehearsal" in robot, **row}
        for robot in robots for row in robot["rows"] if "rehearsal" in robot or row["gap"] in robot["gaps"]
    ]  # fmt: skip


def tally(robots: list[dict[str, Any]]) -> dict[str, Any]:
    rows = known_rows(robots)
    counts, _ = np.histogram([row["rank"] for row in rows], bins=BINS, range=(0, 1))
    hits, in_cell = np.array(left_out(rows)), np.array([row["rehearsal"] for row in rows])
    cells, robots = len([1 for robot in robots if "rehearsal" in robot]), [
        robot for robot in robots if "rehearsal" not in robot
    ]  # fmt: skip
    costly = [robot for robot in robots if len(robot["gaps"]) == 1 and robot["lost"] > COSTLY]
    first = [max(robot["points"], key=robot["points"].__getitem__) == robot["gaps"][0] for robot in costly]
    shut = [robot["probability"][gap] > 0.5 for robot in robots for gap in GAPS if gap not in robot["gaps"]]
    return {
        "robots": len(robots),
        "cells": cells,
        "rows": len(rows),
        "within the posterior's 90 % interval": share([row["error"] <= 1 for row in rows]),
        "within the scaled interval, scale of other robots": share(hits.tolist()),
        "… of rehearsal cells": share(hits[in_cell].tolist()),
        "… of simulated robots": share(hits[~in_cell].tolist()),
        "the only open gap first, if it costs more than five points": share(first),
        "false alarms (a shut gap above 0.5)": share(shut),
        "rank of the truth, in fifths": counts.tolist(),
        "factors": {gap: round(factor, 2) for gap, factor in scale_of(rows).factors.items()},
    }


def drawn_robots(place: int, out: Path, job: CounterfactualJob, config: RunConfig, count: int) -> list[SimulatedRobot]:
    """The robots of a scene, simulated once and kept in `out`."""
    scene, file = SCENES[place], out / "simulated" / f"{SCENES[place].name}-{count}.json"
    if file.exists():
        return [robot_from(row) for row in json.loads(file.read_text())]
    cells = [cell for cell in engine_cells() if cell["robot"] == scene.robot]
    robots = simulated_robots(config, job, count=count, cells=cells, seed=SEED + place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([asdict(robot) | {"traits": robot.traits.tolist()} for robot in robots]))
    return robots


def robot_from(row: dict[str, Any]) -> SimulatedRobot:
    """A robot from its row of the file."""
    truth = {name: tuple(ends) for name, ends in row["truth"].items()}
    return SimulatedRobot(row["name"], tuple(row["gaps"]), truth, row["engine"], np.array(row["traits"]))


def run_scene(place: int, out: Path, count: int, episodes: int, at_most: int) -> None:
    """Diagnose simulated robots of a scene that have no result yet, and store the results."""
    scene = SCENES[place]
    policy, config_file = policy_of(scene, out)
    config = load_config(config_file)
    bank, job = bank_of(policy, config, out / "banks")
    robots = drawn_robots(place, out, replace(job, episodes=episodes), config, count)
    emulator = emulator_of(bank)
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {robot.name: FOLDER / f"{scene.name}-{robot.name}.json" for robot in robots}
    for robot in [robot for robot in robots if not files[robot.name].exists()][:at_most]:
        result = diagnosed(robot, emulator, config, spread_without(robot.engine, scene.robot))
        files[robot.name].write_text(json.dumps({**result, "cell": files[robot.name].stem}, indent=1) + "\n")
        print(json.dumps(result), flush=True)


def run_cells(scenes: list[int], out: Path, episodes: int, at_most: int) -> None:
    """Diagnose rehearsal cells of some scenes that have no result yet, and store the results."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [case for case in cases(FORMER_SEEDS) if case.scene in scenes]
    left = [case for case in wanted if not diagnosis.file_of(case, FOLDER).exists()]
    for case in left[:at_most]:
        result = diagnosed_cell(case, out, episodes)
        diagnosis.file_of(case, FOLDER).write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, nargs="+", default=list(range(len(SCENES))))
    parser.add_argument("--robots", type=int, default=24, help="simulated robots of each scene")
    parser.add_argument(
        "--at-most", type=int, default=1000, help="robots to diagnose now; others wait for another call"
    )
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--tally", action="store_true", help="only count the stored results")
    args = parser.parse_args()
    for place in [] if args.tally else args.scenes:
        run_scene(place, args.out, args.robots, args.episodes, args.at_most)
    run_cells([] if args.tally else args.scenes, args.out, args.episodes, args.at_most)
    robots = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]
    result = tally(robots)
    kept = [{key: row[key] for key in ("cell", "gap", "row", "error")} for row in known_rows(robots)]
    TARGET.write_text(json.dumps({"rows": kept}, indent=1) + "\n")
    RESULTS.with_name("diagnosis_intervals.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
