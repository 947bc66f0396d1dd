"""Try `inspect-robot` and `generate` on public robot models that Twinloop does not ship.

    python benchmarks/public_robots.py DIR [--models NAMES] [--minutes 8]

DIR has a folder for each repository, named as in `MODELS`: `git clone https://github.com/OWNER/NAME DIR/NAME`. For each
model, `inspect-robot` proposes a mapping, and `generate` makes 16 episodes of pick_and_place with it, unchanged. The
only options are those that the messages ask for: `--package NAME=DIR` with a folder of that name in the repository, and
`--root` with the repository. A model is written to benchmarks/results/public_robots.json as it ends, so a stopped run
continues. The models were chosen by file name; none of them was looked at before the run.
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
EPISODES, SEED = 16, 90_000
MODELS = {
    "OMY": ("ROBOTIS-GIT/robotis_mujoco_menagerie", "robotis_omy/omy.xml"),
    "OMX": ("ROBOTIS-GIT/robotis_mujoco_menagerie", "robotis_omx/omx.xml"),
    "OpenMANIPULATOR-X": ("ROBOTIS-GIT/robotis_mujoco_menagerie", "robotis_open_manipulator_x/open_manipulator_x.xml"),
    "OpenArm": ("enactic/openarm_mujoco", "v1/openarm.xml"),
    "OpenArm pair": ("enactic/openarm_mujoco", "v2/openarm_bimanual.xml"),
    "Fetch (scene)": (
        "Farama-Foundation/Gymnasium-Robotics",
        "gymnasium_robotics/envs/assets/fetch/pick_and_place.xml",
    ),
    "Jaco": ("google-deepmind/dm_control", "dm_control/third_party/kinova/jaco_arm.xml"),
    "Panda (franka_sim)": ("vikashplus/franka_sim", "franka_panda.xml"),
    "xArm 7 (scene)": ("huggingface/gym-xarm", "gym_xarm/tasks/assets/lift.xml"),
    "iiwa (robosuite)": ("ARISE-Initiative/robosuite", "robosuite/models/assets/robots/iiwa/robot.xml"),
    "xArm 7 (robosuite)": ("ARISE-Initiative/robosuite", "robosuite/models/assets/robots/xarm7/robot.xml"),
    "Sawyer (URDF)": (
        "ARISE-Initiative/robosuite",
        "robosuite/models/assets/bullet_data/sawyer_description/urdf/sawyer_arm.urdf",
    ),
    "Panda with hand (URDF)": ("RobotLocomotion/models", "franka_description/urdf/panda_arm_hand.urdf"),
    "Jaco j2n6s300 (URDF)": ("RobotLocomotion/models", "jaco_description/urdf/j2n6s300.urdf"),
    "iiwa 14 (URDF)": ("RobotLocomotion/models", "iiwa_description/urdf/iiwa14_primitive_collision.urdf"),
    "UR3e (URDF)": ("RobotLocomotion/models", "ur_description/urdf/ur3e_cylinders_collision.urdf"),
    "myCobot 280 (URDF)": (
        "elephantrobotics/mycobot_ros",
        "mycobot_description/urdf/mycobot_280_m5/mycobot_280_m5.urdf",
    ),
    "myCobot Pro 600 (URDF)": (
        "elephantrobotics/mycobot_ros",
        "mycobot_description/urdf/mycobot_pro_600/mycobot_pro_600.urdf",
    ),
    "mechArm 270 (URDF)": (
        "elephantrobotics/mycobot_ros",
        "mycobot_description/urdf/mecharm_270_pi/mecharm_270_pi.urdf",
    ),
    "Doosan M1013 (URDF)": ("doosan-robotics/doosan-robot2", "dsr_description2/urdf/m1013.white.urdf"),
    "Doosan A0509 (URDF)": ("doosan-robotics/doosan-robot2", "dsr_description2/urdf/a0509.white.urdf"),
    "Z1 (URDF)": ("unitreerobotics/unitree_ros", "robots/z1_description/xacro/z1.urdf"),
    "IRB 1200 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/abb/abb_irb1200_support/urdf/irb1200_7_70.urdf",
    ),
    "KR 6 R900 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/kuka/kuka_kr6_support/urdf/kr6r900sixx.urdf",
    ),
    "CRX-10iA/L (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/fanuc/fanuc_crx10ia_support/urdf/crx10ial.urdf",
    ),
    "TX2-60 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/staubli/staubli_tx2_60_support/urdf/tx2_60.urdf",
    ),
    "UR10e (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/xacro_generated/universal_robots/ur_description/urdf/ur10e.urdf",
    ),
    "PincherX 150 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/xacro_generated/interbotix_descriptions/urdf/px150.urdf",
    ),
    "SIA10D (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/ros-industrial/motoman/motoman_sia10d_support/urdf/sia10d.urdf",
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
            return Trial(repository, path, shown, error.replace(scratch, ""), cpu_s=cpu_s)
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
