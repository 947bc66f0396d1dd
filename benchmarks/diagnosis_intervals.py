"""Check the intervals of `twinloop diagnose` by simulation-based calibration, and measure how much to widen them.

    python benchmarks/diagnosis_intervals.py [--part 1:4] [--episodes 16] [--cells 16] [--one]
    python benchmarks/diagnosis_intervals.py --tally

Cells are for working: former cells of the figure, and cells of `WORK_SEEDS` in the other scenes of
`benchmarks/diagnosis.py`, of both engines, with gaps of drawn sizes. Each estimated row is compared with the value that
the cell has. If
posteriors are right, the rank of the truth among the samples is uniform, and nine of ten truths are in their 90 %
intervals. Results go to benchmarks/results/diagnosis/intervals/. `--tally` writes the errors to
twinloop/diagnose/interval_scale.json, which a diagnosis uses, and counts how many truths the widened intervals hold: in
cells that the scale was not measured with, because each cell is left out once. Policies, banks and runlogs are those of
benchmarks/diagnosis.py. About half a CPU minute per cell.
"""

import argparse
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from diagnosis import ENGINES, RESULTS, SCENES, SIZES, WORK_SEEDS, Case, file_of, policy_of, share, true_value, truth_of

import twinloop as tl
from twinloop.dataset import Dataset
from twinloop.diagnose.bank import Bank
from twinloop.diagnose.counterfactuals import CounterfactualJob, limited, simulate_counterfactuals
from twinloop.diagnose.diagnosis import diagnose_traits, posterior_of
from twinloop.diagnose.emulator import emulator_of
from twinloop.diagnose.findings import bounds_of, estimated_rows
from twinloop.diagnose.interval_scale import UNSCALED, error_of, scale_of
from twinloop.diagnose.make_bank import bank_key, make_bank
from twinloop.diagnose.robot_episodes import read_episodes
from twinloop.diagnose.traits import Arm, measure_traits
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.diagnose import DiagnoseConfig
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import load_config
from twinloop.run.twin import twin_of

FOLDER = RESULTS / "intervals"
TARGET = Path(__file__).parents[1] / "twinloop" / "diagnose" / "interval_scale.json"
FORMER = RESULTS / "former"
"""Results of 17 cells that were a figure of an earlier method; since then they are cells for working."""
FIRST = 200
"""The first of `WORK_SEEDS` that is used here; earlier ones were used for the engine spread and for single tries."""
BINS = 5


def cases(count: int) -> list[Case]:
    """Former cells of the figure, and new ones of the other scenes.

    New cells have one gap open, or two in every fourth. Scenes, engines and gaps alternate.
    """
    chosen = [
        Case(**{item.name: stored[item.name] for item in fields(Case)})
        for stored in (json.loads(file.read_text()) for file in sorted(FORMER.glob("*.json")))
    ]
    for number, seed in enumerate(WORK_SEEDS[FIRST : FIRST + count]):
        rng = episode_rng(seed, 0, stream="intervals")
        gaps = [GAPS[(number + number // len(GAPS)) % len(GAPS)]]
        if number % 4 == 3:
            gaps.append(str(rng.choice([gap for gap in GAPS if gap not in gaps])))
        sizes = {gap: round(float(rng.uniform(0.5 * SIZES[0], SIZES[-1])), 2) for gap in gaps}
        engine = ENGINES[(number + number // 2) % len(ENGINES)]
        chosen.append(Case(seed, engine, 1 + number % (len(SCENES) - 1), "interval", sizes))
    return chosen


def bank_of(policy: Path, config_file: Path, cache: Path) -> tuple[Bank, float | None]:
    """The bank that `tl.diagnose` makes and stores for this policy, and the time limit of its episodes."""
    config, candidate, settings = load_config(config_file), candidate_of(policy), DiagnoseConfig()
    acting, size = ActingConfig(), {"levels": settings.cells, "episodes": settings.episodes, "seed": settings.seed}
    key = bank_key(policy=candidate.digest, config=config, cameras=(), acting=vars(acting), **size)
    job = limited(CounterfactualJob(
        config.to_yaml(), str(Path.cwd()), candidate.load, acting, settings.episodes, settings.seed, paired=True
    ))  # fmt: skip
    bank = make_bank(
        config, lambda chunks: simulate_counterfactuals(job, chunks), folder=cache / f"bank-{key}",
        levels=settings.cells, episodes=settings.episodes, seed=settings.seed,
    )  # fmt: skip
    return bank, job.longest_s


def estimates_of(case: Case, out: Path, episodes: int) -> list[dict[str, Any]]:
    """The estimated rows of a cell that have a true value there."""
    policy, config_file = policy_of(SCENES[case.scene], out)
    log = out / "runlogs" / case.name
    tl.deploy(policy, case.robot, log, episodes=episodes, task=SCENES[case.scene].task)
    bank, longest_s = bank_of(policy, config_file, out / "banks")
    config, runlog = load_config(config_file), load_runlog(log)
    twin = twin_of(config)
    _, traces = read_episodes(
        [Dataset.open(runlog.path)], all_episodes([runlog]), candidate_of(policy), Arm(twin), twin.robot.name
    )  # fmt: skip
    diagnosis = diagnose_traits(measure_traits(traces, longest_s), emulator_of(bank), seed=DiagnoseConfig.seed)
    posterior, truth = posterior_of(diagnosis, config, scale=UNSCALED), truth_of(case)
    rows = []
    for gap in GAPS:
        for estimate, values in estimated_rows(gap, posterior):
            true = true_value(truth, estimate.row, estimate.element, estimate.nominal, spread=estimate.spread)
            if true is None:
                continue
            row = BY_NAME[estimate.row]
            is_share = row.chance is not None or bool(row.words or row.pool)
            bounds = bounds_of(row, "spread" if estimate.spread else "share" if is_share else "high")
            rank = (np.mean(values < true) + np.mean(values <= true)) / 2
            rows.append({
                "cell": case.name, "gap": gap, "row": estimate.row, "value": estimate.value,
                "interval": list(estimate.interval), "true": true, "rank": round(float(rank), 3),
                "error": round(error_of(estimate.value, estimate.interval, true, bounds), 3),
            })  # fmt: skip
    return rows


def left_out(rows: list[dict[str, Any]]) -> list[bool]:
    """For each row: whether its truth is in its interval, widened by the scale of all other cells."""
    hits = []
    for row in rows:
        scale = scale_of([other for other in rows if other["cell"] != row["cell"]])
        hits.append(row["error"] <= scale.factors[row["gap"]])
    return hits


def tally(rows: list[dict[str, Any]], cells: int) -> dict[str, Any]:
    counts, _ = np.histogram([row["rank"] for row in rows], bins=BINS, range=(0, 1))
    by_engine = {
        engine: share([row["error"] <= 1 for row in rows if f"-{engine}-" in row["cell"]]) for engine in ENGINES
    }
    return {
        "cells": cells,
        "rows": len(rows),
        "within the posterior's 90 % interval": share([row["error"] <= 1 for row in rows]),
        "by engine": by_engine,
        "within the widened interval, scale of other cells": share(left_out(rows)),
        "rank of the truth, in fifths": counts.tolist(),
        "factors": {gap: round(factor, 2) for gap, factor in scale_of(rows).factors.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1:1", metavar="K:N", help="part K of N of the cells")
    parser.add_argument("--cells", type=int, default=16, help="number of new cells")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--one", action="store_true", help="run only the next cell that has no result")
    parser.add_argument("--tally", action="store_true", help="only count the stored results")
    args = parser.parse_args()
    part, parts = map(int, args.part.split(":"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not args.tally:
        left = [case for case in cases(args.cells)[part - 1 :: parts] if not file_of(case, FOLDER).exists()]
        for case in left[: 1 if args.one else None]:
            rows = estimates_of(case, args.out, args.episodes)
            file_of(case, FOLDER).write_text(json.dumps({"rows": rows}, indent=1) + "\n")
            print(case.name, case.gaps, [(row["row"], row["error"]) for row in rows], flush=True)
    files = sorted(FOLDER.glob("*.json"))
    rows = [row for file in files for row in json.loads(file.read_text())["rows"]]
    result = tally(rows, len(files))
    if args.tally:
        kept = [{key: row[key] for key in ("cell", "gap", "row", "error")} for row in rows]
        TARGET.write_text(json.dumps({"rows": kept}, indent=1) + "\n")
        RESULTS.with_name("diagnosis_intervals.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
