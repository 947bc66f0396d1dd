"""Which joints of a model are the arm and which the gripper.

The arm is the chain of joints from the base up to the body at which the joints branch: the hand. Joints beyond it
belong to the gripper. A chain that does not branch may end with a jaw. Joints of a torso or a mobile base, which carry
the arm, are held still.
"""

import re
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest

JAW = re.compile(r"grip|jaw|finger|claw|hand(?!le)|thumb|knuckle", re.IGNORECASE)
MIN_ARM_JOINTS, MAX_ARM_JOINTS = 3, 8
MIN_CARRIED_JOINTS = 5  # of an arm and its gripper behind a branch; fingers have fewer
MIN_SECOND_ARM_JOINTS = 6  # of an arm behind as many joints as an arm has; a thumb may have five
MIN_CHAIN = 4  # joints one behind the other of such an arm; a linkage of fingers has fewer
MOST_JAW_RAD = 4.0
MOVING = (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value)


@dataclass(frozen=True)
class JointRoles:
    """Joints of one arm.

    Attributes:
        arm: indices, from the base to the hand.
        gripper: indices of all joints beyond the hand; empty for an arm without gripper.
        hand: index of the body that carries the fingers, or of the last body of an arm without gripper.
        others: names of bodies with joints that do not belong to this arm, such as a second arm.
        held: indices of joints before the arm, of a torso, a rail or a mobile base.
    """

    arm: tuple[int, ...]
    gripper: tuple[int, ...]
    hand: int
    others: tuple[str, ...]
    held: tuple[int, ...] = ()


def roles_of(model: mujoco.MjModel, path: str, *, arm: str = "") -> JointRoles:
    """Find arm and gripper.

    Args:
        arm: a body; only the joints below it are looked at, for models with several arms.
    """
    counts = _joint_counts(model)
    body = _start(model, counts, path, arm)
    others, held = list(_beside(model, counts, body)), _joints_above(model, body)
    chain: list[int] = []
    while True:
        chain += _joints_of(model, body)
        children = [child for child in _children(model, body) if counts[child]]
        if not children:
            break
        largest = max(children, key=lambda child: counts[child])
        if len(children) > 1:
            turning = len(chain) - _after_slides(model, chain)
            least = MIN_SECOND_ARM_JOINTS if turning >= MIN_ARM_JOINTS else MIN_CARRIED_JOINTS
            if counts[largest] < least or _longest_chain(model, largest) < MIN_CHAIN:
                break
            # A torso with a head and an arm, or two: the arm begins behind it.
            others += [model.body(child).name for child in children if child != largest]
            held, chain = held + chain, []
        body = largest
    carrying = _carrying(model, chain)
    held, chain = held + chain[:carrying], chain[carrying:]
    hand, gripper = body, tuple(joint for child in children for joint in _joints_below(model, child))
    if not gripper and len(chain) > MIN_ARM_JOINTS and _is_jaw(model, chain[-1]):
        gripper, hand = (chain[-1],), int(model.body_parentid[model.jnt_bodyid[chain[-1]]])
        chain = chain[:-1]
    if not MIN_ARM_JOINTS <= len(chain) <= MAX_ARM_JOINTS:
        raise ModelError(
            f"{path}: the chain of joints from body {model.body(body).name!r} has {len(chain)} joints before it "
            f"branches or ends; an arm has {MIN_ARM_JOINTS} to {MAX_ARM_JOINTS}. Name its first body with --arm BODY, "
            "or write the mapping by hand (docs/robots.md)"
        )
    sliding = [model.joint(joint).name for joint in chain if _slides(model, joint)]
    if sliding:
        raise ModelError(
            f"{path}: joint {sliding[0]!r} of the arm slides; the joints of an arm must turn. Name the first body of "
            "an arm of hinges with --arm BODY, or make the joint a fixed one in the file"
        )
    return JointRoles(tuple(chain), gripper, hand, tuple(name for name in others if name), tuple(held))


def _carrying(model: mujoco.MjModel, chain: list[int]) -> int:
    """How many joints at the beginning of a chain carry the arm: those that slide, and what is too many for an arm."""
    leading = _after_slides(model, chain)
    if not leading or len(chain) - leading < MIN_ARM_JOINTS:
        return 0
    return max(leading, len(chain) - MAX_ARM_JOINTS + 1)


def _after_slides(model: mujoco.MjModel, chain: list[int]) -> int:
    """Place in a chain after the last joint that slides; 0 if none does."""
    return max((place + 1 for place, joint in enumerate(chain) if _slides(model, joint)), default=0)


def _start(model: mujoco.MjModel, counts: np.ndarray, path: str, arm: str) -> int:
    if arm:
        try:
            return model.body(arm).id
        except KeyError:
            known = [model.body(index).name for index in range(1, model.nbody)]
            raise ModelError(f"{path}: no body named {arm!r}; {nearest(arm, known)}") from None
    body = 0
    while not body or not _joints_of(model, body):
        children = [child for child in _children(model, body) if counts[child]]
        if not children:
            raise ModelError(f"{path}: no joints that turn or slide; an arm was expected")
        body = max(children, key=lambda child: counts[child])
    return body


def _beside(model: mujoco.MjModel, counts: np.ndarray, body: int) -> tuple[str, ...]:
    """Bodies with joints that branch off on the way from the world to `body`."""
    others = []
    while body:
        parent = int(model.body_parentid[body])
        others += [model.body(child).name for child in _children(model, parent) if counts[child] and child != body]
        body = parent
    return tuple(name for name in others if name)


def _joint_counts(model: mujoco.MjModel) -> np.ndarray:
    """(bodies,) number of moving joints in each body's subtree."""
    counts = np.zeros(model.nbody, int)
    for joint in range(model.njnt):
        if model.jnt_type[joint] in MOVING:
            counts[model.jnt_bodyid[joint]] += 1
    for body in range(model.nbody - 1, 0, -1):
        counts[model.body_parentid[body]] += counts[body]
    return counts


def _longest_chain(model: mujoco.MjModel, body: int) -> int:
    """Number of moving joints on the longest way from a body to a leaf."""
    behind = max((_longest_chain(model, child) for child in _children(model, body)), default=0)
    return len(_joints_of(model, body)) + behind


def _children(model: mujoco.MjModel, body: int) -> list[int]:
    return [child for child in range(1, model.nbody) if model.body_parentid[child] == body]


def _joints_of(model: mujoco.MjModel, body: int) -> list[int]:
    first = int(model.body_jntadr[body])
    joints = range(first, first + int(model.body_jntnum[body]))
    return [joint for joint in joints if model.jnt_type[joint] in MOVING]


def _joints_below(model: mujoco.MjModel, body: int) -> list[int]:
    return _joints_of(model, body) + [
        joint for child in _children(model, body) for joint in _joints_below(model, child)
    ]


def _joints_above(model: mujoco.MjModel, body: int) -> list[int]:
    """Joints on the way from the world to the body, without its own."""
    joints: list[int] = []
    while body:
        body = int(model.body_parentid[body])
        joints = _joints_of(model, body) + joints if body else joints
    return joints


def _slides(model: mujoco.MjModel, joint: int) -> bool:
    return model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE.value


def _is_jaw(model: mujoco.MjModel, joint: int) -> bool:
    slides = _slides(model, joint)
    # The last joint of a wrist turns without limits or all the way round, a jaw does not.
    if not slides and (not model.jnt_limited[joint] or np.ptp(model.jnt_range[joint]) > MOST_JAW_RAD):
        return False
    body = model.jnt_bodyid[joint]
    names = [model.joint(joint).name, model.body(body).name]
    names += [model.actuator(index).name for index in range(model.nu) if model.actuator_trnid[index, 0] == joint]
    return slides or any(JAW.search(name) for name in names)
