"""Policies that see, across the visual gap: rehearsal cells of another engine and another renderer (Drake, VTK).

    python benchmarks/visual_gap.py --work DIR [--part NAME ...] [--arm NAME ...] [--demos N ...] [--quick] [--json]

A policy reads a front camera, a wrist camera and its joints, and no object pose. It is trained in the twin with one of
four kinds of visual randomization:

    off        no visual row varies
    seed       texture_pool 200, lighting_intensity 0.3 to 1.8, camera_jitter_deg -5 to 5
    realistic  all visual rows of the preset over their default ranges
    fitted     ranges of `twinloop calibrate --frames` on 20 frames of the cell, over the seed's

It then acts in the cell zero-shot, and after fine-tuning on 10, 25 and 50 demonstrations of the cell. `real` is trained
on the 50 demonstrations alone. Physics rows vary alike in all arms.

Parts, in order; each is skipped if its result is in DIR, so a stopped study continues with the same command:
    collect    demonstrations in the cell (scenes 0 to 49 train, 50 to 54 give the frames)
    fit        ranges from 20 frames
    distance   MMD between images of the cell (scenes 0 to 49) and of the twin of each arm; needs no policy
    generate   one dataset for each arm
    train      one policy for each arm
    finetune   from each policy, with 10, 25 and 50 demonstrations
    deploy     success in scenes 1000 and on, which no part has seen, with 95 % Wilson intervals
    table      write benchmarks/results/visual_gap.json

Scenes 900 to 999 are for developing the study (`--work-scenes`). With the default sizes the study needs about a day on
two cores; `--quick` runs every part with sizes that show that it works and give no figure.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARMS = ("off", "seed", "realistic", "fitted")
DEMOS = (10, 25, 50)
PARTS = ("collect", "fit", "distance", "generate", "train", "finetune", "deploy", "table")
FIGURE_SCENES, WORK_SCENES = 1000, 900
FRAMES, DISTANCE_SEED = 20, 300
INPUTS = "observation.images.front,observation.images.hand,observation.state"
CELL = "rehearsal:nominal,seed=41"
CAMERAS = """\
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], fov_deg: 46, width: 96, height: 96}
  hand:
    {mount: wrist, position_m: [0.085, 0.0, -0.05], look_at_m: [0.0, 0.0, 0.035], fov_deg: 75, width: 96, height: 96}
"""
PHYSICS = """\
  physics:
    object_mass_kg: [0.05, 0.4]
    friction_coefficient: [0.4, 1.1]
    object_position_noise_cm: [-2, 2]
    object_yaw_deg: [-45, 45]
"""
SEED_ROWS = """\
  visual:
    texture_pool: 200
    lighting_intensity: [0.3, 1.8]
    camera_jitter_deg: [-5, 5]
"""


@dataclass(frozen=True)
class Sizes:
    """How much is made: episodes of an arm, steps, trials in the cell."""

    episodes: int = 1000
    steps: int = 6000
    finetune_steps: int = 1000
    trials: int = 100
    demonstrations: int = 50
    scenes: int = 48


QUICK = Sizes(episodes=8, steps=4, finetune_steps=2, trials=2, demonstrations=3, scenes=24)


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def visual_rows_of_realistic() -> str:
    """The visual rows of the preset, as a section of a config. Rows of depth are left out: the policy reads colour."""
    from twinloop.randomize.table import TABLE

    rows = [
        row
        for row in TABLE
        if row.group == "visual" and row.realistic and not row.words and row.chance is None
        and not row.builds and not row.name.startswith("depth_")
    ]  # fmt: skip
    # A pool is given by its size.
    ranges = {
        row.name: f"{row.sensible[1]:g}" if row.pool else f"[{row.sensible[0]:g}, {row.sensible[1]:g}]" for row in rows
    }
    return "  visual:\n" + "".join(f"    {name}: {value}\n" for name, value in ranges.items())


class Study:
    def __init__(self, work: Path, sizes: Sizes, *, scenes: int, policy: str, cell: str):
        self.work, self.sizes, self.scenes, self.policy, self.cell = work, sizes, scenes, policy, cell
        work.mkdir(parents=True, exist_ok=True)
        for arm in ARMS:
            self._write_config(arm)
        (work / "cell.yaml").write_text(f"scene: {{robot: franka_panda, task: pick_and_place}}\n{CAMERAS}")

    def _write_config(self, arm: str) -> None:
        rows = {"off": "", "seed": SEED_ROWS, "realistic": visual_rows_of_realistic()}
        visual = rows.get(arm, SEED_ROWS + self._fitted_rows())
        seed = 20 + ARMS.index(arm)
        self.config(arm).write_text(
            f"scene: {{robot: franka_panda, task: pick_and_place}}\nrandomization:\n{visual}{PHYSICS}{CAMERAS}"
            f"expert: {{action_noise_rad: 0.005}}\nrollout: {{seed: {seed}}}\n"
        )

    def _fitted_rows(self) -> str:
        """The fitted ranges. Rows act on all cameras, so a range holds the fits of both."""
        merged: dict[str, list[float]] = {}
        for path in sorted((self.work / "done").glob("fit-*.json")):
            for row, (low, high) in json.loads(path.read_text())["randomization"].items():
                least, most = merged.get(row, [low, high])
                merged[row] = [min(least, low), max(most, high)]
        return "".join(f"    {row}: [{low:.5g}, {high:.5g}]\n" for row, (low, high) in merged.items())

    def config(self, arm: str) -> Path:
        return self.work / f"{arm}.yaml"

    @property
    def robot(self) -> str:
        return f"{self.cell},config={self.work / 'cell.yaml'}"

    def _kept(self, name: str, make: Any) -> dict[str, Any]:
        """The stored result of a step, or a new one."""
        path = self.work / "done" / f"{name}.json"
        if path.exists():
            return json.loads(path.read_text())
        print(f"{name} ...", flush=True)
        result = make()
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
        return result

    def collect(self) -> None:
        count = self.sizes.demonstrations
        for name, first, episodes in (("real", 0, count), ("frames", 50, 5)):
            self._kept(
                f"collect-{name}",
                lambda name=name, first=first, episodes=episodes: twinloop(
                    "collect", "--robot", self.robot, "--episodes", episodes, "--first", first, "--tries", 3,
                    "--out", self.work / name,
                ),
            )  # fmt: skip

    def fit(self) -> None:
        """Write the frames of the cell as pictures, and fit the ranges of the camera rows to them."""
        folder = self.work / "pictures"
        if not folder.exists():
            write_frames(self.work / "frames", folder)
        for camera in ("front", "hand"):
            self._kept(
                f"fit-{camera}",
                lambda camera=camera: twinloop(
                    "calibrate", self.config("fitted"), "--frames", folder / camera, "--camera", camera,
                    "--out", self.work / f"{camera}-patch.yaml",
                ),
            )  # fmt: skip
        self._write_config("fitted")

    def distance(self, arm: str) -> None:
        """How far the images of the cell are from those of the twin, for each camera."""

        def measure() -> dict[str, Any]:
            from twinloop.diagnose.runlog_pictures import diagnose_pictures
            from twinloop.run.config import load_config

            config = load_config(self.config(arm))
            results = diagnose_pictures([self.work / "real"], config, seed=DISTANCE_SEED, scenes=self.sizes.scenes)
            return {result.gap.camera: result.to_json() for result in results}

        self._kept(f"distance-{arm}", measure)

    def generate(self, arm: str) -> None:
        self._kept(
            f"generate-{arm}",
            lambda: twinloop(
                "generate", self.config(arm), "--episodes", self.sizes.episodes, "--out", self.work / "data" / arm
            ),
        )

    def train(self, arm: str) -> None:
        data = self.work / ("real" if arm == "real" else f"data/{arm}")
        self._kept(
            f"train-{arm}",
            lambda: twinloop(
                "train", data, "--policy", self.policy, "--inputs", INPUTS, "--steps", self.sizes.steps,
                "--out", self.work / "policies" / arm,
            ),
        )  # fmt: skip

    def finetune(self, arm: str, demos: int) -> None:
        self._kept(
            f"finetune-{arm}-{demos}",
            lambda: twinloop(
                "finetune", self.work / "policies" / arm, "--data", self.work / "real", "--episodes", demos,
                "--steps", self.sizes.finetune_steps, "--out", self.work / "policies" / f"{arm}-{demos}",
            ),
        )  # fmt: skip

    def deploy(self, arm: str, demos: int) -> None:
        name = arm if demos == 0 else f"{arm}-{demos}"
        self._kept(
            f"deploy-{name}-{self.scenes}",
            lambda: twinloop(
                "deploy", self.work / "policies" / name, "--robot", self.robot, "--episodes", self.sizes.trials,
                "--first", self.scenes, "--out", self.work / "runlogs" / f"{name}-{self.scenes}",
            ),
        )  # fmt: skip

    def table(self, out: Path | None) -> dict[str, Any]:
        rows = []
        for path in sorted((self.work / "done").glob(f"deploy-*-{self.scenes}.json")):
            tally = json.loads(path.read_text())
            success = tally["policies"][0]["success"]
            rows.append({"policy": path.stem.removeprefix("deploy-").removesuffix(f"-{self.scenes}"), **success})
        distances = {
            path.stem.removeprefix("distance-"): json.loads(path.read_text())
            for path in sorted((self.work / "done").glob("distance-*.json"))
        }
        result = {
            "cell": self.cell, "scenes_from": self.scenes, "policy": self.policy, "rows": rows, "distances": distances,
        }  # fmt: skip
        if out is not None:
            out.write_text(json.dumps(result, indent=1) + "\n")
        for row in rows:
            print(f"{row['policy']:16} {row}")
        for arm, cameras in distances.items():
            for camera, gap in cameras.items():
                low, high = gap["interval"]
                print(f"{arm:10} {camera:26} MMD {gap['mmd']:.3f} [{low:.3f}, {high:.3f}], p {gap['p_value']:.3f}")
        return result


def write_frames(runlog: Path, folder: Path) -> None:
    """Write 20 images of each camera, spread over a runlog."""
    import numpy as np

    from twinloop.dashboard.images import png_bytes
    from twinloop.dataset import Dataset

    dataset = Dataset.open(runlog)
    for camera in ("front", "hand"):
        (folder / camera).mkdir(parents=True)
        frames_per_episode = -(-FRAMES // dataset.stored)
        for episode in range(dataset.stored):
            rows = len(dataset.episode(episode)["timestamp"])
            # Neighbouring frames in fours, because noise is the difference of frames in which nothing moves.
            begins = np.linspace(0, rows - 5, max(frames_per_episode // 4, 1)).astype(int)
            wanted = [int(begin) + step for begin in begins for step in range(4)]
            pictures = dataset.pictures(episode, f"observation.images.{camera}", rows=wanted)
            for number, picture in enumerate(pictures):
                (folder / camera / f"{episode:03d}-{number:03d}.png").write_bytes(png_bytes(picture))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="folder of datasets and policies")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--arm", nargs="+", choices=(*ARMS, "real"), default=[*ARMS, "real"])
    parser.add_argument("--demos", nargs="+", type=int, default=[0, *DEMOS], help="0 is zero-shot")
    parser.add_argument("--policy", default="act")
    parser.add_argument("--cell", default=CELL)
    parser.add_argument("--quick", action="store_true", help="the smallest sizes: shows that it works, gives no figure")
    parser.add_argument("--work-scenes", action="store_true", help="deploy in the scenes for developing the study")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results/visual_gap.json; nothing with --quick")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    scenes = WORK_SCENES if args.work_scenes or args.quick else FIGURE_SCENES
    study = Study(args.work, QUICK if args.quick else Sizes(), scenes=scenes, policy=args.policy, cell=args.cell)
    simulated = [arm for arm in args.arm if arm != "real"]
    demos = [count for count in args.demos if 0 < count <= study.sizes.demonstrations] if not args.quick else [2]
    if "collect" in args.part:
        study.collect()
    if "fit" in args.part and "fitted" in args.arm:
        study.fit()
    for arm in simulated:
        if "distance" in args.part:
            study.distance(arm)
        if "generate" in args.part:
            study.generate(arm)
    for arm in args.arm:
        if "train" in args.part:
            study.train(arm)
    for arm in simulated:
        for count in demos:
            if "finetune" in args.part:
                study.finetune(arm, count)
    if "deploy" in args.part:
        for arm in args.arm:
            for count in [0, *(demos if arm != "real" else ())]:
                if count or 0 in args.demos:
                    study.deploy(arm, count)
    if "table" in args.part:
        usual = Path(__file__).parent / "results" / "visual_gap.json"
        result = study.table(args.out or (None if args.quick else usual))
        if args.json:
            print(json.dumps(result))


if __name__ == "__main__":
    main()
