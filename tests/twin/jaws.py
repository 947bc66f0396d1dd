"""A Panda with jaws on hinges, and the mapping that is proposed for a model file."""

from pathlib import Path
from typing import Any

import mujoco
import yaml

from twinloop.twin.robot_files.inspection.proposal import Proposal, propose
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robots.franka_panda import build

PANDA = tuple(f"joint{number}" for number in range(1, 8))
HINGE = mujoco.mjtJoint.mjJNT_HINGE
JAW_M = 0.07


def written(folder: Path, spec: mujoco.MjSpec) -> Path:
    spec.compile()
    (folder / "arm.xml").write_text(spec.to_xml())
    return folder / "arm.xml"


def proposal_of(path: Path) -> tuple[Proposal, dict[str, Any]]:
    proposal = propose(ModelSource(path))
    return proposal, proposal.mapping["gripper"]


def with_jaws(*, most_rad: float, armature: float = 1e-3) -> mujoco.MjSpec:
    """The Panda with two jaws on hinges in place of its fingers, closed at 0."""
    spec = build()
    for element in (*spec.equalities, *spec.tendons, spec.actuator("gripper")):
        spec.delete(element)
    hand = spec.body("hand")
    for side, sign in (("left", 1), ("right", -1)):
        spec.delete(spec.body(f"{side}_finger"))
        jaw = hand.add_body(name=f"{side}_jaw", pos=[0, 0.01 * sign, 0.06])
        jaw.add_joint(
            name=f"{side}_jaw", type=HINGE, axis=[-sign, 0, 0], range=[0, most_rad], armature=armature, damping=0.1
        )
        jaw.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.004, JAW_M / 2], pos=[0, -0.006 * sign, JAW_M / 2], mass=0.03
        )
    coupling = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1="left_jaw", name2="right_jaw"
    )
    coupling.data[:5] = [0, 1, 0, 0, 0]
    drive = spec.add_actuator(name="jaws", target="right_jaw", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    drive.set_to_position(kp=30, kv=0.5)
    drive.ctrlrange, drive.forcerange = (0, most_rad), (-4, 4)
    return spec


def yaml_of(proposal: Proposal) -> str:
    return yaml.safe_dump({"scene": {"robot": proposal.mapping, "task": "pick_and_place"}})
