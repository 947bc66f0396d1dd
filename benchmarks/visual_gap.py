"""Policies that see, across the visual gap: rehearsal cells of another engine and another renderer (Drake, VTK).

    python benchmarks/visual_gap.py --work DIR [--task NAME] [--cell NAME] [--part NAME ...] [--arm NAME ...]
                                    [--demos N ...] [--trials N] [--quick] [--json]

Demonstrations, policy and training are those of benchmarks/seeing.py: a fixed camera, the wrist camera and the joints,
and no object pose. Only the visual rows of the demonstrations differ:

    off        no visual row varies
    seed       texture_pool 200, lighting_intensity 0.3 to 1.8, camera_jitter_deg -5 to 5
    realistic  all visual rows over their sensible ranges, as in benchmarks/seeing.py
    fitted     ranges of `twinloop calibrate --frames` on 20 frames of the cell, over the seed's

Cells: `mild` is lit as the twin is, `dim` has the light of the worst visual gap (0.2 to 0.5 of the twin's) and other
looks. What depends on the cell is in the folder of its name below DIR; the other data and policies serve both.

The policy then acts in the cell zero-shot, and after fine-tuning on 10, 25 and 50 demonstrations of the cell. `real` is
trained on the 50 demonstrations alone. Things start in the cell where they start in the twin (±4 cm, ±45°), so a
failure is due to the images, the physics or the policy, and not to the layout. `blind` reads no image: it is trained on
the demonstrations of `realistic`, and shows how much luck explains. `plain` has the demonstrations of `off`, and its
training changes no colours of images (augmentation): it shows how much augmentation alone explains.

Parts, in order; each is skipped if its result is in DIR, so a stopped study continues with the same command:
    collect    demonstrations in the cell (scenes 0 to 49 train, 50 to 54 give the frames)
    fit        ranges from 20 frames
    distance   MMD between images of the cell (scenes 0 to 49) and of the twin of each arm; needs no policy
    generate   one dataset for each arm
    train      one policy for each arm: images and actions, then the rest of the policy with a frozen backbone
    finetune   from each policy, with 10, 25 and 50 demonstrations
    deploy     success in scenes 1000 and on, which no part has seen, with 95 % Wilson intervals
    table      write benchmarks/results/visual_gap.json
    picture    write docs/pictures/visual_gap.png: images of the twin (`off`, `seed`) above those of both cells

`--first-scene` deploys in other scenes. Scenes 900 to 999 are for developing the study (`--work-scenes`). An arm needs
about 20 minutes of CPU time until it is trained, fine-tuning 5 minutes, and 40 trials one to two minutes; `--quick`
runs every part with sizes that show that it works and give no figure.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import seeing
from visual_gap_pictures import write_frames, write_picture

ARMS = ("off", "seed", "realistic", "fitted")
OTHERS = ("real", "blind", "plain")
DATA_OF = {"plain": "off", "blind": "realistic"}
"""Policies without data of their own -> the arm whose data they are trained on."""
PLAIN = ("colour=0", "cutout=0", "blur=0")
DEMOS = (10, 25, 50)
PARTS = ("collect", "fit", "distance", "generate", "train", "finetune", "deploy", "table", "picture")
FIGURE_SCENES, WORK_SCENES = 1000, 900
DISTANCE_SEED = 300
TIMEOUT_S = 12
"""Duration of an episode in the cell. Demonstrations take 4 to 6 s."""
CAMERAS = tuple(seeing.CAMERAS)
CELLS = {"mild": (41, (0.7, 1.2)), "dim": (43, (0.2, 0.5))}
"""Name -> seed, and range of the light."""
CELL = """\
# A cell of the study: the twin's layout, and everything but the light nominal.
seed: {seed}
visual: {{lighting_intensity: [{low}, {high}]}}
environment: {{object_position_noise_cm: [-4, 4], object_yaw_deg: [-45, 45], target_position_noise_cm: [-3, 3]}}
"""
SEED_ROWS: dict[str, Any] = {"texture_pool": 200, "lighting_intensity": [0.3, 1.8], "camera_jitter_deg": [-5, 5]}


@dataclass(frozen=True)
class Sizes:
    """How much is made: episodes of an arm, steps (None: those of benchmarks/seeing.py), trials in the cell."""

    episodes: int = 1000
    steps: int | None = None
    head_steps: int = seeing.HEAD_STEPS
    finetune_steps: int = 1000
    trials: int = 100
    demonstrations: int = 50
    scenes: int = 48


QUICK = Sizes(episodes=8, steps=4, head_steps=2, finetune_steps=2, trials=2, demonstrations=3, scenes=24)


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


class Study:
    """The study in one cell.

    Attributes:
        work: folder of what serves all cells. own: folder of what belongs to this cell.
    """

    def __init__(self, work: Path, sizes: Sizes, *, task: str, cell: str, scenes: int):
        self.work, self.own, self.sizes, self.task, self.scenes = work, work / cell, sizes, task, scenes
        self.own.mkdir(parents=True, exist_ok=True)
        for arm in ARMS:
            self._write_config(arm)
        seed, (low, high) = CELLS[cell]
        self.cell = CELL.format(seed=seed, low=low, high=high)
        (self.own / "cell.yaml").write_text(self.cell)

    def _folder(self, arm: str) -> Path:
        """The folder of an arm's data and policy."""
        return self.own if arm in ("fitted", "real") else self.work

    def _write_config(self, arm: str) -> None:
        content = json.loads(seeing.config(self.task, moved=True))
        rows = {"off": {}, "seed": SEED_ROWS, "realistic": content["randomization"]["visual"]}
        content["randomization"]["visual"] = rows.get(arm, SEED_ROWS | self._fitted_rows())
        content["rollout"] = {"seed": 20 + ARMS.index(arm)}
        self.config(arm).write_text(json.dumps(content, indent=1))  # JSON is YAML

    def _fitted_rows(self) -> dict[str, list[float]]:
        """The fitted ranges. Rows act on all cameras, so a range holds the fits of both."""
        merged: dict[str, list[float]] = {}
        for path in sorted((self.own / "done").glob("fit-*.json")):
            for row, (low, high) in json.loads(path.read_text())["randomization"].items():
                least, most = merged.get(row, [low, high])
                merged[row] = [min(least, low), max(most, high)]
        return merged

    def _data(self, arm: str) -> Path:
        """The data that the policy of an arm is trained on."""
        return self.own / "real" if arm == "real" else self._folder(arm) / "data" / DATA_OF.get(arm, arm)

    def config(self, arm: str) -> Path:
        return self._folder(arm) / f"{arm}.yaml"

    @property
    def robot(self) -> str:
        return f"rehearsal:{self.own / 'cell.yaml'},config={self.config('off')}"

    def _kept(self, name: str, make: Any, *, folder: Path | None = None) -> dict[str, Any]:
        """The stored result of a step, or a new one. folder: of its data; that of the cell by default."""
        path = (folder or self.own) / "done" / f"{name}.json"
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
                    "--sees", "scene", "--out", self.own / name,
                ),
            )  # fmt: skip

    def fit(self) -> None:
        """Write the frames of the cell as pictures, and fit the ranges of the camera rows to them."""
        folder = self.own / "pictures"
        if not folder.exists():
            write_frames(self.own / "frames", folder, CAMERAS)
        for camera in CAMERAS:
            self._kept(
                f"fit-{camera}",
                lambda camera=camera: twinloop(
                    "calibrate", self.config("fitted"), "--frames", folder / camera, "--camera", camera,
                    "--out", self.own / f"{camera}-patch.yaml",
                ),
            )  # fmt: skip
        self._write_config("fitted")

    def distance(self, arm: str) -> None:
        """How far the images of the cell are from those of the twin, for each camera."""

        def measure() -> dict[str, Any]:
            from twinloop.diagnose.runlog_pictures import diagnose_pictures
            from twinloop.run.config import load_config

            config = load_config(self.config(arm))
            results = diagnose_pictures([self.own / "real"], config, seed=DISTANCE_SEED, scenes=self.sizes.scenes)
            return {result.gap.camera: result.to_json() for result in results}

        self._kept(f"distance-{arm}", measure)

    def generate(self, arm: str) -> None:
        self._kept(
            f"generate-{arm}",
            lambda: twinloop(
                "generate",
                self.config(arm),
                "--episodes",
                self.sizes.episodes,
                "--out",
                self._folder(arm) / "data" / arm,
            ),
            folder=self._folder(arm),
        )

    def train(self, arm: str) -> None:
        """Train the policy of an arm as benchmarks/seeing.py does."""
        folder = self._folder(arm)
        data = self._data(arm)
        out, steps = folder / "policies" / arm, self.sizes.steps or seeing.STEPS[self.task]
        instruction = () if self.task == "pick_and_place" else ("observation.instruction",)
        if arm == "blind":
            inputs = ",".join(("observation.state", *instruction))
            words = ("--steps", min(600, steps), "--set", f"executed={seeing.EXECUTED}", "--threads", 1)
            train = ("train", data, "--inputs", inputs, *words, "--out", out)
            self._kept("train-blind", lambda: twinloop(*train), folder=folder)
            return
        changed = PLAIN if arm == "plain" else ()
        settings = [word for setting in (*seeing.SETTINGS, *changed) for word in ("--set", setting)]
        self._kept(
            f"train-{arm}-images",
            lambda: twinloop(
                "train", data, "--policy", "act", "--inputs", ",".join((seeing.INPUTS, *instruction)), "--steps", steps,
                "--batch", seeing.BATCH, "--precision", "bf16", "--threads", 1, *settings, "--out", f"{out}-images",
            ),
            folder=folder,
        )  # fmt: skip
        self._kept(
            f"train-{arm}",
            lambda: twinloop(
                "finetune", f"{out}-images", "--data", data, "--freeze", "sight.encoder",
                "--steps", self.sizes.head_steps, "--batch", seeing.HEAD_BATCH, "--learning-rate", 1e-3,
                "--set", f"executed={seeing.EXECUTED}", "--threads", 1, "--out", out,
            ),
            folder=folder,
        )  # fmt: skip

    def finetune(self, arm: str, demos: int) -> None:
        """Mix demonstrations of the cell with those of the twin."""
        self._kept(
            f"finetune-{arm}-{demos}",
            lambda: twinloop(
                "finetune", self._folder(arm) / "policies" / arm, "--data", self.own / "real", "--episodes", demos,
                "--keep", self._data(arm), "--steps", self.sizes.finetune_steps, "--precision", "bf16",
                "--threads", 1, "--set", f"executed={seeing.EXECUTED}",
                "--out", self.own / "policies" / f"{arm}-{demos}",
            ),
        )  # fmt: skip

    def deploy(self, arm: str, demos: int) -> None:
        name, folder = (arm, self._folder(arm)) if demos == 0 else (f"{arm}-{demos}", self.own)
        self._kept(
            f"deploy-{name}-{self.scenes}",
            lambda: twinloop(
                "deploy", folder / "policies" / name, "--robot", self.robot, "--episodes", self.sizes.trials,
                "--first", self.scenes, "--episode-timeout", TIMEOUT_S,
                "--out", self.own / "runlogs" / f"{name}-{self.scenes}",
            ),
        )  # fmt: skip

    def table(self) -> dict[str, Any]:
        """The results of this cell."""
        rows = []
        for path in sorted((self.own / "done").glob("deploy-*.json")):
            tally = json.loads(path.read_text())
            name, _, first = path.stem.removeprefix("deploy-").rpartition("-")
            policy = tally["policies"][0]
            rows.append(
                {"policy": name, "first_scene": int(first), **policy["success"], "failures": policy["failures"]}
            )
        distances = {
            path.stem.removeprefix("distance-"): json.loads(path.read_text())
            for path in sorted((self.own / "done").glob("distance-*.json"))
        }
        for row in rows:
            print(f"{row['policy']:16} {row}")
        for arm, cameras in distances.items():
            for camera, gap in cameras.items():
                low, high = gap["interval"]
                print(f"{arm:10} {camera:26} MMD {gap['mmd']:.3f} [{low:.3f}, {high:.3f}], p {gap['p_value']:.3f}")
        return {"task": self.task, "cell": self.cell, "rows": rows, "distances": distances}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="folder of datasets and policies")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--arm", nargs="+", choices=(*ARMS, *OTHERS), default=[*ARMS, *OTHERS])
    parser.add_argument("--demos", nargs="+", type=int, default=[0, *DEMOS], help="0 is zero-shot")
    parser.add_argument("--task", default="pick_and_place", choices=tuple(seeing.DATA))
    parser.add_argument("--cell", default="mild", choices=tuple(CELLS))
    parser.add_argument("--trials", type=int, help="episodes in the cell of each policy")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes: shows that it works, gives no figure")
    parser.add_argument("--first-scene", type=int, default=FIGURE_SCENES)
    parser.add_argument("--work-scenes", action="store_true", help="deploy in the scenes for developing the study")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results/visual_gap.json; nothing with --quick")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    scenes = WORK_SCENES if args.work_scenes or args.quick else args.first_scene
    sizes = QUICK if args.quick else Sizes()
    sizes = replace(sizes, trials=args.trials or sizes.trials)
    study = Study(args.work, sizes, task=args.task, cell=args.cell, scenes=scenes)
    simulated = [arm for arm in args.arm if arm in ARMS]
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
    tuned = [arm for arm in args.arm if arm in (*ARMS, "plain")]
    for arm in tuned:
        for count in demos:
            if "finetune" in args.part:
                study.finetune(arm, count)
    if "deploy" in args.part:
        for arm in args.arm:
            for count in [0, *(demos if arm in tuned else ())]:
                if count or 0 in args.demos:
                    study.deploy(arm, count)
    if "table" in args.part:
        usual = Path(__file__).parent / "results" / "visual_gap.json"
        out, result = args.out or (None if args.quick else usual), study.table()
        if out is not None:
            cells = json.loads(out.read_text()) if out.exists() else {}
            out.write_text(json.dumps(cells | {args.cell: result}, indent=1) + "\n")
        if args.json:
            print(json.dumps(result))
    if "picture" in args.part and not args.quick:
        simulated = [args.work / "data" / arm for arm in ("off", "seed")]
        datasets = [*simulated, *(args.work / cell / "real" for cell in CELLS)]
        write_picture(datasets, CAMERAS, Path(__file__).parents[1] / "docs" / "pictures" / "visual_gap.png")


if __name__ == "__main__":
    main()
