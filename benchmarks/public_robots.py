"""Try `inspect-robot` and `generate` on public robot models that Twinloop does not ship.

    python benchmarks/public_robots.py DIR [--models NAMES] [--minutes 8]

DIR has a folder for each repository, named as in `MODELS`: `git clone https://github.com/OWNER/NAME DIR/NAME`. For each
model, `inspect-robot` proposes a mapping, and `generate` makes 16 episodes of pick_and_place with it, unchanged. The
only options are those that the messages ask for: `--package NAME=DIR` with a folder of that name in the repository,
`--root` with the repository, and `--skip-missing-meshes`. A model is written to benchmarks/results/public_robots.json
as it ends, so a stopped run continues. The models were chosen by file name, and none of them was looked at before the
run. Models whose mesh files were absent in the copy at hand were left out beforehand.
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
    "UR5 with 2F-85 (URDF)": ("ElectronicElephant/pybullet_ur5_robotiq", "urdf/ur5_robotiq_85.urdf"),
    "UR5 with 2F-140 (URDF)": ("ElectronicElephant/pybullet_ur5_robotiq", "urdf/ur5_robotiq_140.urdf"),
    "UR5e with 2F-140 (URDF)": ("Improbable-AI/airobot", "src/airobot/urdfs/ur5e_2f140_pybullet.urdf"),
    "iiwa 14 (scene)": ("TATP-233/DISCOVERSE", "models/mjcf/manipulator/robot_iiwa14.xml"),
    "xArm 7 (scene)": ("TATP-233/DISCOVERSE", "models/mjcf/manipulator/robot_xarm7.xml"),
    "AIRBOT Play (scene)": ("TATP-233/DISCOVERSE", "models/mjcf/manipulator/robot_airbot_play.xml"),
    "RM65 (scene)": ("TATP-233/DISCOVERSE", "models/mjcf/manipulator/robot_rm65.xml"),
    "Panda with 2F-85": ("TATP-233/DISCOVERSE", "models/mjcf/manipulator/franka_robotiq/panda_robotiq.xml"),
    "AUBO i5": ("ian-chuang/Manipulator-Mujoco", "manipulator_mujoco/assets/robots/aubo_i5/aubo_i5.xml"),
    "iiwa 14 of mjctrl": ("kevinzakka/mjctrl", "kuka_iiwa_14/iiwa14.xml"),
    "WidowX 250 S (URDF)": (
        "simpler-env/ManiSkill2_real2sim",
        "mani_skill2_real2sim/assets/descriptions/widowx_description/wx250s.urdf",
    ),
    "Google robot (URDF)": (
        "simpler-env/ManiSkill2_real2sim",
        "mani_skill2_real2sim/assets/descriptions/googlerobot_description/google_robot_meta_sim_fix_wheel_fix_fingertip.urdf",
    ),
    "Jaco of IKEA furniture": ("clvrai/furniture", "furniture/env/models/assets/robots/jaco/robot.xml"),
    "Fetch of IKEA furniture": ("clvrai/furniture", "furniture/env/models/assets/robots/fetch/robot.xml"),
    "Baxter of IKEA furniture": ("clvrai/furniture", "furniture/env/models/assets/robots/baxter/robot.xml"),
    "Gen3 6 axes with 2F-85 (URDF)": (
        "personalrobotics/ada_description",
        "kortex_description/robots/gen3_6dof_vision.urdf",
    ),
    "JAKA Zu 5 (URDF)": ("JAKARobotics/jaka_ros2", "src/jaka_description/urdf/jaka_zu5.urdf"),
    "JAKA MiniCobo (URDF)": ("JAKARobotics/jaka_ros2", "src/jaka_description/urdf/jaka_minicobo.urdf"),
    "Gen3 V12 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/matlab/kortex_v12_description/robots/kinovaGen3V12.urdf",
    ),
    "UR3 (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/matlab/ur_description/urdf/universalUR3.urdf"),
    "UR16e (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/matlab/ur_e_description/urdf/universalUR16e.urdf"),
    "iiwa 7 (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/matlab/iiwa_description/urdf/kukaIiwa7.urdf"),
    "Panda of urdf_files_dataset (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/matlab/franka_description/robots/frankaEmikaPanda.urdf",
    ),
    "FR3 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/oems/xacro_generated/franka_emika/franka_description/robots/fr3/fr3.urdf",
    ),
    "Mico m1n6s200 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/oems/xacro_generated/kinova_robotics/kinova_description/urdf/m1n6s200_standalone.urdf",
    ),
    "Meca500 (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/matlab/mecademic_description/urdf/meca500r3.urdf"),
    "IRB 120 (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/matlab/abb_irb120_support/urdf/abbIrb120.urdf"),
    "LWA 4P (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/random/xacro_generated/schunk_modular_robotics/schunk_description/urdf/schunk_lwa4p.urdf",
    ),
    "ViperX 300 S (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/xacro_generated/interbotix_descriptions/urdf/vx300s.urdf",
    ),
    "WidowX 200 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/xacro_generated/interbotix_descriptions/urdf/wx200.urdf",
    ),
    "PincherX 100 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/xacro_generated/interbotix_descriptions/urdf/px100.urdf",
    ),
    "ReactorX 150 (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/xacro_generated/interbotix_descriptions/urdf/rx150.urdf",
    ),
    "PhantomX Pincher (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/robotics-toolbox/pxpincher/urdf/pincher_arm.urdf",
    ),
    "OpenMANIPULATOR (URDF)": (
        "Daniella1/urdf_files_dataset",
        "urdf_files/matlab/open_manipulator_description/urdf/robotisOpenManipulator.urdf",
    ),
    "SO-100 (MJCF)": ("box2ai-robotics/lerobot-joycon", "lerobot/common/robot_devices/controllers/so_100.xml"),
    "iiwa of drake (URDF)": ("RobotLocomotion/drake", "multibody/benchmarks/kuka_iiwa_robot/kuka_iiwa_robot.urdf"),
    "UR16e of robogym": ("openai/robogym", "robogym/assets/xmls/robot/ur16e/gripper_main.xml"),
    "QArm (URDF)": ("Daniella1/urdf_files_dataset", "urdf_files/oems/qarm_quanser/qarm_description/urdf/QARM.urdf"),
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
