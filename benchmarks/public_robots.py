"""Try `inspect-robot` and `generate` on public robot models that Twinloop does not ship.

    python benchmarks/public_robots.py DIR [--models NAMES] [--minutes 8]

DIR has a folder for each repository, named as in `MODELS`: `git clone https://github.com/OWNER/NAME DIR/NAME`. For each
model, `inspect-robot` proposes a mapping, and `generate` makes 16 episodes of pick_and_place with it, unchanged. The
only options are those that the messages ask for: `--package NAME=DIR` with a folder of that name in the repository,
`--root` with the repository, and `--skip-missing-meshes`. A model is written to benchmarks/results/public_robots.json
as it ends, so a stopped run continues.

The models were chosen by file name before the run, and none of them was looked at before: every arm in seven
repositories, one file for each product and gripper, without files that were used in earlier runs; and of the support
packages of ROS-Industrial in urdf_files_dataset, in alphabetical order, the first file of every third one.
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
EPISODES, SEED = 16, 92_000
MODELS = {
    "Panda of cuRobo (URDF)": ("NVlabs/curobo", "curobo/content/assets/robot/franka_description/franka_panda.urdf"),
    "UR10e of cuRobo (URDF)": ("NVlabs/curobo", "curobo/content/assets/robot/ur_description/ur10e.urdf"),
    "Z1 (URDF)": ("Gepetto/example-robot-data", "robots/z1_description/urdf/z1.urdf"),
    "B1 with Z1 (URDF)": ("Gepetto/example-robot-data", "robots/b1_description/urdf/b1-z1.urdf"),
    "Baxter of example-robot-data (URDF)": ("Gepetto/example-robot-data", "robots/baxter_description/urdf/baxter.urdf"),
    "Jaco of example-robot-data (URDF)": ("Gepetto/example-robot-data", "robots/kinova_description/robots/kinova.urdf"),
    "UR3 with gripper (URDF)": ("Gepetto/example-robot-data", "robots/ur_description/urdf/ur3_gripper.urdf"),
    "UR10 (URDF)": ("Gepetto/example-robot-data", "robots/ur_description/urdf/ur10_robot.urdf"),
    "Panda of Genesis": ("Genesis-Embodied-AI/Genesis", "genesis/assets/xml/franka_emika_panda/panda.xml"),
    "UR5e of Genesis": ("Genesis-Embodied-AI/Genesis", "genesis/assets/xml/universal_robots_ur5e/ur5e.xml"),
    "Panda of franka_sim in Genesis": (
        "Genesis-Embodied-AI/Genesis",
        "genesis/assets/xml/franka_sim/franka_panda_1.xml",
    ),
    "Panda of Bullet in Genesis (URDF)": ("Genesis-Embodied-AI/Genesis", "genesis/assets/urdf/panda_bullet/panda.urdf"),
    "Panda on a slider (URDF)": (
        "Genesis-Embodied-AI/Genesis",
        "genesis/assets/urdf/panda_bullet/panda_slider_mobile.urdf",
    ),
    "iiwa of Genesis (URDF)": ("Genesis-Embodied-AI/Genesis", "genesis/assets/urdf/kuka_iiwa/model.urdf"),
    "Fetch (URDF)": ("haosulab/ManiSkill", "mani_skill/assets/robots/fetch/fetch.urdf"),
    "ViperX pair of ACT (scene)": ("tonyzhaozh/act", "assets/bimanual_viperx_transfer_cube.xml"),
    "Fetch of Gymnasium-Robotics (scene)": (
        "Farama-Foundation/Gymnasium-Robotics",
        "gymnasium_robotics/envs/assets/fetch/pick_and_place.xml",
    ),
    "Dobot (URDF)": ("erwincoumans/pybullet_robots", "data/dobot/dobot.urdf"),
    "Baxter of pybullet_robots (URDF)": (
        "erwincoumans/pybullet_robots",
        "data/baxter_common/baxter_description/urdf/baxter.urdf",
    ),
    "Panda of pybullet_robots (URDF)": ("erwincoumans/pybullet_robots", "data/franka_panda/panda.urdf"),
    "Sawyer of pybullet_robots (URDF)": (
        "erwincoumans/pybullet_robots",
        "data/sawyer_robot/sawyer_description/urdf/sawyer.urdf",
    ),
    "GoFa CRB 15000 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/abb/abb_crb15000_support/urdf/crb15000_5_95.urdf",
    ),
    "IRB 2600 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/abb/abb_irb2600_support/urdf/irb2600_12_165.urdf",
    ),
    "IRB 5400 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/abb/abb_irb5400_support/urdf/irb5400.urdf",
    ),
    "IRB 6650S (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/abb/abb_irb6650s_support/urdf/irb6650s_125_350.urdf",
    ),
    "CR-7iA (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_cr7ia_support/urdf/cr7ia.urdf",
    ),
    "LR Mate 200iC (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_lrmate200ic_support/urdf/lrmate200ic.urdf",
    ),
    "M-20iA (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_m20ia_support/urdf/m20ia.urdf",
    ),
    "M-710iC (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_m710ic_support/urdf/m710ic45m.urdf",
    ),
    "R-1000iA (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_r1000ia_support/urdf/r1000ia80f.urdf",
    ),
    "KR 10 R1100 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/kuka/kuka_kr10_support/urdf/kr10r1100sixx.urdf",
    ),
    "KR 16-2 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/kuka/kuka_kr16_support/urdf/kr16_2.urdf",
    ),
    "KR 5 arc (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/kuka/kuka_kr5_support/urdf/kr5_arc.urdf",
    ),
    "SIA20D (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/motoman/motoman_sia20d_support/urdf/sia20d.urdf",
    ),
    "TX2-90 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/staubli/staubli_tx2_90_support/urdf/tx2_90.urdf",
    ),
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
                if folders:
                    return ["--package", f"{package[1]}={folders[0]}"]
                break
    if "--root DIR" in error and "--root" not in options:
        return ["--root", str(root)]
    skip = "--skip-missing-meshes"
    return [skip] if skip in error and skip not in options else []


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
