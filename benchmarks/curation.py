"""Measure how well a curator separates faulty from good episodes, and whether curation pays.

`--part faults` (default): for each cell a curator is trained on good episodes of one seed. It is measured on episodes
of other seeds and objects: AUROC of injected faults of known kinds, of kinds left out of its training (in four
groups), of kinds that only this script has, and of kinds that were written after the method was fixed; false
rejections of good episodes; episodes scored per second of CPU time. `--part speed` measures the latter on all cores,
with the trained curators of `--work`.

`--cells realistic` has noisy sensors and trackers (`randomization: realistic`); it is not one of the default cells.

`--part images`: the same for faults of images, with two cameras.

`--part pays`: success of policies trained on clean data, on data with 20 % faulty episodes, and on the same data after
curation. `--part so101 --data DIR`: known faults in real recordings of an SO-101.

Each cell's result is kept in `--work`; the same command continues. `--seeds work` uses the seeds that limits were
chosen with; the figure uses the others, once.

    python benchmarks/curation.py [--part faults|speed|images|pays|so101] [--cells NAMES] [--work DIR] [--into FILE]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from curation_faults import NEW, UNKNOWN

from twinloop.curate.discriminator.curator_file import load_curator, save_curator
from twinloop.curate.discriminator.faults import SIZES, duplicated
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.curate.discriminator.training import KINDS, auroc, fit_curator, fit_usual, injected
from twinloop.curate.discriminator.trajectories import Trajectories, joined
from twinloop.curate.intervals import wilson
from twinloop.dataset import Dataset
from twinloop.dataset.trajectories import read_trajectories
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

SEEDS = {"work": 11, "figure": 9910}
"""Seeds 5010, 6010, 7010, 9010, 9510 and 9810 were used for earlier figures, and their failures were looked at."""
EACH = 8
GROUPS = 4
PARTS = ("known", "left_out", "unknown", "new")
OTHER_PARTS = ("realistic", "speed", "images", "pays", "so101")
TRAIN, TEST, OTHER = 160, 64, 40


@dataclass(frozen=True)
class BenchCell:
    """A robot, a task and other objects for it. Good episodes with these objects must pass.

    realistic: every row varies, sensors and trackers included. Otherwise mass, friction and place of the object do.
    """

    robot: str
    task: str
    objects: tuple[str, ...] = ()
    realistic: bool = False


CELLS = {
    "pick": BenchCell("franka_panda", "pick_and_place", ("can", "block", "tower")),
    "so101": BenchCell("so101", "pick_and_place", ("block",)),
    "push": BenchCell("franka_panda", "push_to_goal", ("block",)),
    "drawer": BenchCell("ur5e_2f85", "put_in_drawer", ("block",)),
    "stack": BenchCell("xarm7", "stack"),
    "realistic": BenchCell("franka_panda", "pick_and_place", ("can", "block", "tower"), realistic=True),
}
PLAIN = tuple(name for name, cell in CELLS.items() if not cell.realistic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("faults", *OTHER_PARTS[1:]), default="faults")
    parser.add_argument("--cells", default=",".join(PLAIN), help=f"names with commas, of {', '.join(CELLS)}")
    parser.add_argument("--seeds", choices=tuple(SEEDS), default="figure")
    parser.add_argument("--work", type=Path, help="folder of intermediate results (default: a temporary one)")
    parser.add_argument("--data", type=Path, help="folder of the real SO-101 recordings, for --part so101")
    parser.add_argument("--into", type=Path, help="add the result to this file, e.g. benchmarks/results/curation.json")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.part == "so101" and args.data is None:
        parser.error("--part so101 needs --data DIR, the folder of the real SO-101 recordings")
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        if args.part == "faults":
            result = summary({name: _cell(name, SEEDS[args.seeds], work) for name in args.cells.split(",")})
        elif args.part == "speed":
            result = measure_speed(args.cells.split(","), SEEDS[args.seeds], work)
        elif args.part == "images":
            from curation_images import measure_images

            result = measure_images(work, SEEDS[args.seeds])
        elif args.part == "pays":
            from curation_pays import measure_gain

            result = measure_gain(work, SEEDS[args.seeds])
        else:
            from curation_so101 import measure_so101

            result = measure_so101(args.data, work)
    if args.into is not None:
        _add(args.into, "realistic" if args.cells == "realistic" else args.part, result)
    print(json.dumps(result) if args.json else json.dumps(result, indent=2))


def _add(file: Path, part: str, result: dict) -> None:
    """Write a result beside those of the other parts. The part `faults` has the keys of the file itself."""
    whole = json.loads(file.read_text()) if file.exists() else {}
    others = {name: whole[name] for name in OTHER_PARTS if name in whole}
    file.write_text(json.dumps({**result, **others} if part == "faults" else {**whole, part: result}) + "\n")


def good_episodes(folder: Path, cell: BenchCell, seed: int, count: int, thing: str = "") -> Trajectories:
    """Accepted episodes of a cell, generated once."""
    rows = "physics: {object_mass_kg: [0.05, 0.4], friction_coefficient: [0.4, 1.1], object_position_noise_cm: [-2, 2]}"
    text = (
        f"scene: {{robot: {cell.robot}, task: {cell.task}{f', object: {thing}' if thing else ''}}}\n"
        f"randomization: {'realistic' if cell.realistic else f'{{{rows}}}'}\nrollout: {{seed: {seed}}}\n"
    )
    generate(config_from_text(text, name="cell.yaml", folder=folder), folder / f"{thing or 'own'}-{seed}",
             episodes=count, workers=1)  # fmt: skip
    dataset = Dataset.open(folder / f"{thing or 'own'}-{seed}")
    return joined(list(read_trajectories(dataset)))


def _cell(name: str, seed: int, work: Path) -> dict:
    file = work / f"{name}-{seed}.json"
    if not file.exists():
        folder = work / name
        folder.mkdir(exist_ok=True)
        file.write_text(json.dumps(measure(CELLS[name], folder, seed)))
        print(f"{name}: done", file=sys.stderr)
    return json.loads(file.read_text())


def measure(cell: BenchCell, folder: Path, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    good = good_episodes(folder, cell, seed, TRAIN)
    test = good_episodes(folder, cell, seed + 1, TEST)
    others = {thing: good_episodes(folder, cell, seed + 2 + at, OTHER, thing) for at, thing in enumerate(cell.objects)}
    began = time.process_time()
    usual = fit_usual(good, rng=rng)
    curator, _ = fit_curator(good, usual, kinds=KINDS, threshold=Threshold(), rng=rng)
    trained_s = time.process_time() - began
    save_curator(curator, folder / f"curator-{seed}")
    partial = {}
    for group in (KINDS[number::GROUPS] for number in range(GROUPS)):
        kinds = [kind for kind in KINDS if kind not in group]
        partial |= dict.fromkeys(group, fit_curator(good, usual, kinds=kinds, threshold=Threshold(), rng=rng)[0])
    unseen = {"own": test, **others}
    began = time.process_time()
    ratios = {thing: curator.ratios(curator.model.features(episodes)) for thing, episodes in unseen.items()}
    rate = sum(map(len, unseen.values())) / (time.process_time() - began)
    scored = {thing: curator.score(episodes) for thing, episodes in unseen.items()}
    known, left_out, unknown, new = {}, {}, {}, {}
    for (kind, size), episodes in injected(test, KINDS, count=EACH, rng=rng).items():
        table = curator.ratios(curator.model.features(episodes))
        known[f"{kind}/{size}"] = auroc(_every(curator, ratios), curator.combine(table))
        left_out[f"{kind}/{size}"] = auroc(_every(partial[kind], ratios), partial[kind].combine(table))
    for size in SIZES:
        known[f"duplicated/{size}"] = _duplicates(curator, test, size, rng)
    for kinds, aurocs in ((UNKNOWN, unknown), (NEW, new)):
        for kind, size in product(kinds, SIZES):
            chosen = rng.permutation(len(test))[:EACH]
            made = [kinds[kind](test.take(np.array([index])), rng, size) for index in chosen]
            faulty = [episode for episode in made if episode is not None]
            if faulty:
                table = curator.ratios(curator.model.features(joined(faulty)))
                aurocs[f"{kind}/{size}"] = auroc(_every(curator, ratios), curator.combine(table))
    return {
        "known": known, "left_out": left_out, "unknown": unknown, "new": new,
        "rejected": {thing: [int(scores.rejected.sum()), len(scores.values)] for thing, scores in scored.items()},
        "reasons": [scores.reasons[row] for scores in scored.values() for row in np.flatnonzero(scores.rejected)],
        "episodes_per_cpu_s": rate, "training_cpu_s": trained_s,
    }  # fmt: skip


def measure_speed(names: list[str], seed: int, work: Path) -> dict:
    """Episodes per second of wall-clock time that are scored with all cores, copies included."""
    episodes, seconds, by_cell, cores = 0, 0.0, {}, os.cpu_count() or 1
    for name in names:
        curator = load_curator(work / name / f"curator-{seed}")
        good = joined(list(read_trajectories(Dataset.open(work / name / f"own-{seed}"))))
        curator.score(good.take(np.arange(8)))  # loads the kinematics
        began = time.perf_counter()
        curator.score(good, threads=cores)
        took_s = time.perf_counter() - began
        by_cell[name] = round(len(good) / took_s, 1)
        episodes, seconds = episodes + len(good), seconds + took_s
    return {"episodes_per_s": round(episodes / seconds, 1), "cores": cores, "episodes": episodes, "cells": by_cell}


def _every(curator, ratios: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([curator.combine(table) for table in ratios.values()])


def _duplicates(curator, test: Trajectories, size: int, rng: np.random.Generator) -> float:
    """AUROC of copies among the episodes that they were copied from."""
    index = rng.permutation(len(test))[:EACH]
    copies = [duplicated(test.take(np.array([row])), rng, size) for row in index]
    made = [replace(copy, attempts=np.array([100_000 + at])) for at, copy in enumerate(copies) if copy is not None]
    values = curator.score(joined([test, *made])).values
    return auroc(values[: len(test)], values[len(test) :])


def summary(cells: dict[str, dict]) -> dict:
    def mean(*parts: str) -> tuple[float, dict[str, float]]:
        values: dict[str, list[float]] = {}
        for cell in cells.values():
            for part in parts:
                for key, value in cell[part].items():
                    values.setdefault(key.partition("/")[0], []).append(value)
        kinds = {kind: float(np.mean(some)) for kind, some in values.items()}
        return float(np.mean([value for some in values.values() for value in some])), kinds

    known, by_known = mean("known")
    left_out, by_left_out = mean("left_out")
    unknown, by_unknown = mean("unknown")
    new, by_new = mean("new")
    both, _ = mean("left_out", "unknown", "new")
    counts = [pair for cell in cells.values() for pair in cell["rejected"].values()]
    rejected, total = sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)
    low, high = wilson(rejected, total)
    return {
        "auroc_known": round(known, 4), "auroc_unknown": round(both, 4),
        "auroc_left_out": round(left_out, 4), "auroc_held_out_kinds": round(unknown, 4),
        "auroc_new_kinds": round(new, 4),
        "false_rejections": round(rejected / total, 4), "false_rejections_interval": [float(low), float(high)],
        "good_episodes": total, "rejected_good": rejected,
        "episodes_per_cpu_s": round(float(np.mean([cell["episodes_per_cpu_s"] for cell in cells.values()])), 1),
        "known": {kind: round(value, 4) for kind, value in by_known.items()},
        "left_out": {kind: round(value, 4) for kind, value in by_left_out.items()},
        "held_out_kinds": {kind: round(value, 4) for kind, value in by_unknown.items()},
        "new_kinds": {kind: round(value, 4) for kind, value in by_new.items()},
        "by_cell": {
            name: {part: round(float(np.mean(list(cell[part].values()))), 4) for part in PARTS}
            for name, cell in cells.items()
        },
        "cells": {name: {"rejected": cell["rejected"], "reasons": cell["reasons"]} for name, cell in cells.items()},
    }  # fmt: skip


if __name__ == "__main__":
    main()
