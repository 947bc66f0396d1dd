"""Try `inspect-robot` and `generate` on public robot models that Twinloop does not ship.

    python benchmarks/public_robots.py DIR [--models NAMES] [--minutes 8]

DIR has a folder for each repository, named as in `MODELS`: `git clone https://github.com/OWNER/NAME DIR/NAME`. For each
model, `inspect-robot` proposes a mapping, and `generate` makes 16 episodes of pick_and_place with it, unchanged. The
only options are those that the messages ask for: `--package NAME=DIR` with a folder of that name in the repository, and
`--root` with the repository. A model is written to benchmarks/results/public_robots.json as it ends, so a stopped run
continues. The models were chosen by file name, and split from those that were worked on by a hash of their folder; none
of them was looked at before the run. Models whose mesh files were absent in the copy at hand were left out beforehand.
Those of Metaworld and of the two dm_robotics repositories were taken from the wheels of the packages.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "public_robots.json"
EPISODES, SEED = 16, 91_000
MODELS = {
    "Panda without tendon": (
        "Genesis-Embodied-AI/Genesis",
        "genesis/assets/xml/franka_emika_panda/panda_no_tendon.xml",
    ),
    "iiwa with Allegro hand (URDF)": (
        "NVIDIA-Omniverse/IsaacGymEnvs",
        "assets/urdf/kuka_allegro_description/kuka_allegro_touch_sensor.urdf",
    ),
    "iiwa (URDF)": ("NVIDIA-Omniverse/IsaacGymEnvs", "assets/urdf/kuka_allegro_description/kuka.urdf"),
    "Panda v2 (URDF)": ("haosulab/ManiSkill", "mani_skill/assets/robots/panda/panda_v2.urdf"),
    "Panda with stick (URDF)": ("haosulab/ManiSkill", "mani_skill/assets/robots/panda/panda_stick.urdf"),
    "SO-100 (URDF)": ("haosulab/ManiSkill", "mani_skill/assets/robots/so100/so100.urdf"),
    "xArm 7 (URDF)": ("haosulab/ManiSkill", "mani_skill/assets/robots/xarm7/xarm7.urdf"),
    "xArm 7 with Ability hand (URDF)": (
        "haosulab/ManiSkill",
        "mani_skill/assets/robots/xarm7/xarm7_ability_right_hand.urdf",
    ),
    "Panda (ManiSkill)": ("haosulab/ManiSkill", "mani_skill/examples/benchmarking/envs/mujoco/panda.xml"),
    "UR10e pair (URDF)": ("NVlabs/curobo", "curobo/content/assets/robot/ur_description/dual_ur10e.urdf"),
    "Bravo 7 (URDF)": ("Gepetto/example-robot-data", "robots/bravo7_description/urdf/bravo7_gripper.urdf"),
    "Panda of example-robot-data (URDF)": ("Gepetto/example-robot-data", "robots/panda_description/urdf/panda.urdf"),
    "PR2 (URDF)": ("Gepetto/example-robot-data", "robots/pr2_description/urdf/pr2.urdf"),
    "Talos left arm (URDF)": ("Gepetto/example-robot-data", "robots/talos_data/robots/talos_left_arm.urdf"),
    "TIAGo without hand (URDF)": ("Gepetto/example-robot-data", "robots/tiago_description/robots/tiago_no_hand.urdf"),
    "TIAGo Pro (URDF)": ("Gepetto/example-robot-data", "robots/tiago_pro_description/robots/tiago_pro.urdf"),
    "UR5 with gripper (URDF)": ("Gepetto/example-robot-data", "robots/ur_description/urdf/ur5_gripper.urdf"),
    "UR5 (URDF)": ("maxspahn/gym_envs_urdf", "examples/ur5.urdf"),
    "M-10iA (URDF)": ("moveit/moveit_resources", "fanuc_description/urdf/fanuc.urdf"),
    "Panda of pybullet-planning (URDF)": (
        "caelan/pybullet-planning",
        "models/franka_description/robots/panda_arm_hand.urdf",
    ),
    "ECO65 (URDF)": ("RealManRobot/rm_robot", "rm_description/urdf/ECO65/eco65.urdf"),
    "RM75 (URDF)": ("RealManRobot/rm_robot", "rm_description/urdf/RM75/rm_75.urdf"),
    "Panda of robot-assets (URDF)": ("ankurhanda/robot-assets", "urdfs/robots/franka_panda/panda.urdf"),
    "Gen3 6 axes (URDF)": (
        "Kinovarobotics/ros_kortex",
        "kortex_description/arms/gen3/6dof/urdf/GEN3-6DOF_VISION_URDF_ARM_V01.urdf",
    ),
    "WidowX AI": ("TrossenRobotics/trossen_arm_mujoco", "trossen_arm_mujoco/assets/wxai/wxai_follower.xml"),
    "Mobile AI": ("TrossenRobotics/trossen_arm_mujoco", "trossen_arm_mujoco/assets/mobile_ai/mobile_ai.xml"),
    "X5A": ("vuer-ai/vuer_mjcf", "assets/robots/x5a/x5a.mjcf.xml"),
    "X7S": ("vuer-ai/vuer_mjcf", "assets/robots/x7s/x7s.mjcf.xml"),
    "Sawyer (Meta-World scene)": (
        "Farama-Foundation/Metaworld",
        "metaworld/assets/sawyer_xyz/sawyer_pick_place_v3.xml",
    ),
    "Sawyer (dm_robotics)": (
        "google-deepmind/dm_robotics",
        "dm_robotics/moma/models/vendor/rethink/sawyer_description/mjcf/sawyer.xml",
    ),
    "Panda (dm_robotics_panda)": ("JeanElsner/dm_robotics_panda", "dm_robotics/panda/assets/panda/panda.xml"),
}
PACKAGE = re.compile(r"package '([^']+)' is not known")


@dataclass(frozen=True)
class Trial:
    """One model.

    Attributes:
        options: those that inspect-robot's messages asked for.
        message: why there is no dataset; "" if there is one.
        cpu_s: of inspect-robot and of generate.
    """

    repository: str
    path: str
    options: tuple[str, ...] = ()
    message: str = ""
    accepted: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    cpu_s: tuple[float, float] = (0.0, 0.0)


def trial(repository: str, path: str, folder: Path) -> Trial:
    root = folder / repository.partition("/")[2]
    options: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        while True:
            proposed, error, inspected_s = run("inspect-robot", str(root / path), *options)
            answer = remedy(error, root / path, root, options)
            if not answer:
                break
            options += answer
        shown = tuple(option.replace(str(root), repository.partition("/")[2]) for option in options)
        if error:
            return Trial(repository, path, shown, error.replace(str(root), ""), cpu_s=(inspected_s, 0.0))
        config = Path(scratch) / "cell.yaml"
        config.write_text(proposed)
        made, error, generated_s = run(
            "generate", str(config), "--episodes", str(EPISODES), "--seed", str(SEED), "--workers", "1",
            "--out", f"{scratch}/data", "--json",
        )  # fmt: skip
        cpu_s = (inspected_s, generated_s)
        if error:
            return Trial(repository, path, shown, error.replace(scratch, "").replace(str(root), ""), cpu_s=cpu_s)
        report = json.loads(made.strip().splitlines()[-1])
        return Trial(repository, path, shown, "", report["accepted"], report["rejected"], cpu_s)


def run(*arguments: str) -> tuple[str, str, float]:
    """Output, message of a failure, and CPU seconds of a command."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "400"},
    )  # fmt: skip
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    return done.stdout, (done.stderr.strip() or "failed") if done.returncode else "", round(cpu_s, 1)


def remedy(error: str, file: Path, root: Path, options: list[str]) -> list[str]:
    """The options that a message of inspect-robot asks for; [] if there are none."""
    package = PACKAGE.search(error)
    if package:
        # If several folders have this name, use the one nearest to the model.
        for above in file.parents:
            folders = sorted(place for place in above.rglob(package[1]) if place.is_dir())
            if folders or above == root:
                return ["--package", f"{package[1]}={folders[0]}"] if folders else []
    return ["--root", str(root)] if "--root DIR" in error and "--root" not in options else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the repositories")
    parser.add_argument("--models", default="all", metavar="NAMES", help="names with commas (default: all)")
    parser.add_argument("--minutes", type=float, default=1e6, help="end after the first model that ends later")
    args = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"models": {}}
    results |= {"episodes": EPISODES, "seed": SEED}
    begun = time.monotonic()
    for name in MODELS if args.models == "all" else args.models.split(","):
        if args.models == "all" and name in results["models"]:
            continue
        record = trial(*MODELS[name], args.folder.resolve())
        results["models"][name] = asdict(record)
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(name, record.accepted, record.rejected, record.message[:300], *record.cpu_s, flush=True)
        if time.monotonic() - begun > 60 * args.minutes:
            break


if __name__ == "__main__":
    main()
