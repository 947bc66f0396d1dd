"""Measure how `twinloop diagnose` does in rehearsal cells of two engines with known gaps and known unmodelled effects.

    python benchmarks/diagnosis.py --part 1:12 [--cells work|figure] [--episodes 16] [--one]
    python benchmarks/diagnosis.py --cells figure --tally

A cell has no gap open, one, two, an effect that no row of the parameter table describes, or a gap and an effect.
Development cells have seeds of `WORK_SEEDS`; nothing may be tuned on the cells of `FIGURE_SEEDS`, which are run once
for the figure. Each part writes its results to benchmarks/results/diagnosis/; finished cells are not run again. A
policy is trained for each scene (robot and task) before its first cell, and its bank of counterfactuals is made once;
both stay in DIR. About 1 CPU minute per cell, and 6 before the first of a scene.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import twinloop as tl
from twinloop.curate.intervals import wilson
from twinloop.diagnose.report import GapReport
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS
from twinloop.run.default import embedded_config

RESULTS = Path(__file__).parent / "results" / "diagnosis"
WORK_SEEDS = range(100, 1000)
"""Seeds of cells that were used to develop the method."""
FORMER_SEEDS = range(13_000, 13_021)
"""Seeds of cells that were run for an earlier figure and are used for working since: the intervals of rows and the
spread between engines are measured in them too."""
FIGURE_SEEDS = range(15_000, 16_000)
"""Seeds of held-out cells. They are run once, with the method frozen before. Cells of 5000 to 8999 and 12000 to
13999 were looked at while working, after they had been run for earlier figures; their results, with the methods of that
time, are in `results/diagnosis/former`."""
ENGINES = ("drake", "physx")
EFFECTS = ("cable", "stick_slip", "vibration", "worn_pad", "brown_out", "tracker_swap", "lean")
SIZES = (0.6, 0.8, 1.0)
COSTLY, LOST = 0.05, 0.10


@dataclass(frozen=True)
class Scene:
    """A robot and a task, and how its policy is trained."""

    robot: str
    task: str
    config: str
    demonstrations: int = 600
    steps: int = 1500

    @property
    def name(self) -> str:
        return f"{self.robot}-{self.task}"


def _varied(robot: str, task: str) -> str:
    return (
        f"scene:\n  robot: {robot}\n  task: {task}\n"
        "randomization:\n  physics:\n    object_mass_kg: [0.05, 0.4]\n    friction_coefficient: [0.2, 1.1]\n"
        "    object_position_noise_cm: [-2, 2]\nexpert:\n  action_noise_rad: 0.005\n"
    )


SCENES = (
    Scene("franka_panda", "pick_and_place", embedded_config().to_yaml()),
    Scene("xarm7", "pick_and_place", _varied("xarm7", "pick_and_place")),
    Scene("franka_panda", "stack", _varied("franka_panda", "stack")),
)


@dataclass(frozen=True)
class Case:
    """One rehearsal cell.

    Attributes:
        gaps, effects: what is open, with sizes from 0 to 1.
        own: multiple of the tolerances from which the cell's own numbers are drawn.
    """

    seed: int
    engine: str
    scene: int
    kind: str
    gaps: dict[str, float] = field(default_factory=dict)
    effects: dict[str, float] = field(default_factory=dict)
    own: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.seed}-{self.engine}-{SCENES[self.scene].name}-{self.kind}"

    @property
    def robot(self) -> str:
        """The cell's name; robot and task come from the policy's config."""
        parts = [
            f"{key}={'+'.join(f'{name}:{size:g}' for name, size in sizes.items())}"
            for key, sizes in (("gap", self.gaps), ("effect", self.effects))
            if sizes
        ]
        scene = SCENES[self.scene]
        words = [*(parts or ["nominal"]), f"seed={self.seed}", f"robot={scene.robot}", f"task={scene.task}"]
        words += [f"own={self.own:g}"] if self.own != 1 else []
        return f"rehearsal:{self.engine}:{','.join(words)}"


def cases(seeds: range) -> Iterator[Case]:
    """Cells in a fixed order. Any number of them from the start covers gaps, kinds, engines and scenes evenly.

    Each gap has another size, engine and scene every time that it comes.
    """
    effect = 0
    for number, seed in enumerate(seeds):
        rng = episode_rng(seed, 0, stream="diagnosis")
        turn = number // len(GAPS)
        engine = ENGINES[(number + number // 4 + turn) % len(ENGINES)]
        scene = number % len(SCENES)
        gap, size = GAPS[number % len(GAPS)], SIZES[(number + 2 * turn) % len(SIZES)]
        yield Case(seed, engine, scene, "single", {gap: size})
        if number % 4 == 0:
            yield Case(seed, engine, scene, "none")
        if number % 2 == 1:
            name, effect = EFFECTS[effect % len(EFFECTS)], effect + 1
            yield Case(seed, engine, scene, "effect", {}, {name: float(rng.choice(SIZES[1:]))})
        if number % 4 == 1:
            one, other = rng.choice(len(GAPS), size=2, replace=False)
            yield Case(seed, engine, scene, "pair", {GAPS[place]: float(rng.choice(SIZES)) for place in (one, other)})
        if number % 6 == 3:
            name = EFFECTS[(effect + 3) % len(EFFECTS)]
            yield Case(seed, engine, scene, "gap and effect", {gap: size}, {name: 0.8})


def policy_of(scene: Scene, out: Path) -> tuple[Path, Path]:
    """(policy, config) of a scene; trained if it does not exist yet."""
    config = out / "configs" / f"{scene.name}.yaml"
    policy = out / "policies" / scene.name
    if not policy.exists():
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(scene.config)
        dataset = tl.generate(config, out / "datasets" / scene.name, episodes=scene.demonstrations, seed=1)
        tl.train(dataset, policy, steps=scene.steps)
    return policy, config


def run_case(case: Case, out: Path, episodes: int) -> dict[str, Any]:
    """Deploy the policy in the cell and diagnose the log."""
    policy, config = policy_of(SCENES[case.scene], out)
    log = out / "runlogs" / case.name
    began = time.process_time()
    tl.deploy(policy, case.robot, log, episodes=episodes, task=SCENES[case.scene].task)
    report = tl.diagnose(log, policy, config, cache=out / "banks", workers=1, out=out / "diagnoses" / case.name)
    return {
        **asdict(case),
        **summary_of(report),
        "truth": truth_of(case),
        "cpu_s": round(time.process_time() - began, 1),
    }


def summary_of(report: GapReport) -> dict[str, Any]:
    by_gap = {finding.gap: finding for finding in report.findings}
    return {
        "success": report.success, "twin": report.twin_success, "episodes": report.episodes,
        "ranked": [finding.gap for finding in report.findings], "nothing": round(report.nothing, 3),
        "probability": {gap: round(by_gap[gap].probability, 3) for gap in GAPS},
        "differs": {gap: round(by_gap[gap].differs, 3) for gap in GAPS},
        "points": {gap: round(by_gap[gap].points, 1) for gap in GAPS},
        "rows": [
            {"gap": finding.gap, "row": row.row, "element": row.element, "value": row.value, "interval": row.interval,
             "spread": row.spread, "nominal": row.nominal}
            for finding in report.findings for row in finding.rows
        ],
        "unmodelled": {
            "present": report.unmodelled.present, "points": round(report.unmodelled.points, 1),
            "probability": round(report.unmodelled.probability, 3), "p_value": report.unmodelled.p_value,
            "success_p_value": report.unmodelled.success_p_value,
            "strange": [item.trait for item in report.unmodelled.strange],
        },
    }  # fmt: skip


def truth_of(case: Case) -> dict[str, tuple[float, float]]:
    """Row -> range in the cell. Only this benchmark reads it, after the diagnosis."""
    from twinloop.deploy.rehearsal.cell_file import cell_of

    return dict(cell_of(case.robot.removeprefix("rehearsal:")).truth)


def share(hits: list[bool]) -> dict[str, Any]:
    low, high = wilson(sum(hits), len(hits)) if hits else (0.0, 1.0)
    return {"hits": sum(hits), "cases": len(hits), "low": round(float(low), 3), "high": round(float(high), 3)}


def lost_in(row: dict[str, Any], rows: list[dict[str, Any]]) -> float:
    """Success of the same policy in empty cells of the same engine and scene, minus that in the cell."""
    empty = [other["success"] for other in rows if other["kind"] == "none"
             and (other["engine"], other["scene"]) == (row["engine"], row["scene"])]  # fmt: skip
    return (float(np.mean(empty)) if empty else row["twin"]) - row["success"]


def true_value(
    truth: dict[str, tuple[float, float]], row: str, element: str, nominal: float, *, spread: bool
) -> float | None:
    """The value of a row in a cell; None for rows that the cell does not have, and for single elements."""
    true = truth.get(row)
    if true is None or element:
        return None
    return max(abs(true[0] - nominal), abs(true[1] - nominal)) if spread else sum(true) / 2


def covered(row: dict[str, Any]) -> list[bool]:
    """For each estimated row that the cell has: whether its true value is in the interval."""
    hits = []
    for estimate in row["rows"]:
        true = true_value(
            row["truth"], estimate["row"], estimate["element"], estimate["nominal"], spread=estimate["spread"]
        )
        low, high = estimate["interval"]
        if true is not None:
            hits.append(bool(low <= true <= high))
    return hits


def tally(rows: list[dict[str, Any]]) -> dict[str, Any]:
    lost = {id(row): lost_in(row, rows) for row in rows}
    single = [row for row in rows if row["kind"] == "single" and lost[id(row)] > COSTLY]
    pairs = [row for row in rows if row["kind"] == "pair" and lost[id(row)] > COSTLY]
    shut = [row["probability"][gap] > 0.5 for row in rows for gap in GAPS if gap not in row["gaps"]]
    effects = [row for row in rows if row["kind"] == "effect" and lost[id(row)] > LOST]
    return {
        "open gap first, if it costs more than five points": share(
            [next(iter(row["gaps"])) == row["ranked"][0] for row in single]
        ),
        "open gap among the first two": share([next(iter(row["gaps"])) in row["ranked"][:2] for row in single]),
        "one of two open gaps first": share([row["ranked"][0] in row["gaps"] for row in pairs]),
        "both of two open gaps among the first three": share(
            [set(row["gaps"]) <= set(row["ranked"][:3]) for row in pairs]
        ),
        "false alarms (a shut gap above 0.5)": share(shut),
        "unmodelled named, if only an effect costs more than ten points": share(
            [row["unmodelled"]["present"] for row in effects]
        ),
        "unmodelled named in empty cells": share(
            [row["unmodelled"]["present"] for row in rows if row["kind"] == "none"]
        ),
        "rows within their 90 % interval": share([hit for row in rows for hit in covered(row)]),
    }


def file_of(case: Case, folder: Path) -> Path:
    return folder / f"{case.name.replace(' ', '-')}.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", choices=("work", "figure"), default="work")
    parser.add_argument("--part", default="1:1", metavar="K:N", help="part K of N of the cells")
    parser.add_argument("--count", type=int, default=64, help="number of cells in all parts")
    parser.add_argument("--scenes", type=int, nargs="+", default=list(range(len(SCENES))), help="only cells of these")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--one", action="store_true", help="run only the next cell that has no result")
    parser.add_argument("--tally", action="store_true", help="only count the stored results")
    args = parser.parse_args()
    part, parts = map(int, args.part.split(":"))
    folder = (RESULTS if args.cells == "figure" else args.out / "results") / args.cells
    if not args.tally:
        folder.mkdir(parents=True, exist_ok=True)
        all_cases = list(cases(FIGURE_SEEDS if args.cells == "figure" else WORK_SEEDS))[: args.count]
        wanted = [case for case in all_cases[part - 1 :: parts] if case.scene in args.scenes]
        left = [case for case in wanted if not file_of(case, folder).exists()]
        for case in left[: 1 if args.one else None]:
            row = run_case(case, args.out, args.episodes)
            file_of(case, folder).write_text(json.dumps(row, indent=1) + "\n")
            first = ", ".join(
                f"{gap} {row['probability'][gap]:.2f} {row['points'][gap]:.0f}" for gap in row["ranked"][:3]
            )
            print(f"{case.name} {case.gaps} {case.effects} success {row['success']:.2f}: {first}; "
                  f"unmodelled {row['unmodelled']}", flush=True)  # fmt: skip
    rows = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    for row in rows:
        row |= {"where": SCENES[row["scene"]].name, "costly": lost_in(row, rows) > COSTLY}
    if args.cells == "figure":
        seeds = f"{FIGURE_SEEDS.start} to {FIGURE_SEEDS.stop - 1}"
        kept = [{key: value for key, value in row.items() if key not in ("rows", "truth", "differs")} for row in rows]
        figure = {"seeds": seeds, "episodes": args.episodes, "planned": args.count, "tally": tally(rows), "rows": kept}
        RESULTS.with_suffix(".json").write_text(json.dumps(figure) + "\n")
    print(json.dumps({"cells": len(rows), "tally": tally(rows)}, indent=1))


if __name__ == "__main__":
    main()
