"""Add a residual to a cloned policy of an arm: shifts of the tool, which reinforcement learns."""

from typing import Any

import mujoco
import numpy as np
import torch

from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.scales import blank_scales
from twinloop.learn.space import STATE, Space
from twinloop.twin.twin import Twin

SHIFT_M, TURN_RAD = 0.01, 0.1
"""The tool's motion for a shift of 1."""
DIRECTIONS = 4
"""Along x, y and z of the world, and about z."""


def with_residual(policy: MlpPolicy, space: Space, twin: Twin, *, seed: int) -> MlpPolicy:
    """Return the policy with a new residual, or as it is if it has one.

    The offsets of the joints are those of the Jacobian at the mean joint positions of the demonstrations.
    """
    if policy.residual is not None:
        return policy
    settings: dict[str, Any] = {**policy.settings(), "residual": DIRECTIONS}
    # Torch initialises layers from its global generator, which is seeded here and restored afterwards.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        residual = MlpPolicy(space, blank_scales(space, policy.horizon), **settings)
    residual.load_state_dict(policy.state_dict(), strict=False)
    assert residual.residual is not None
    residual.residual.begin()
    state = next(feature for feature in space.vectors if feature.name == STATE)
    mean = policy.vectors.get_buffer(f"mean{policy.vectors.names.index(STATE)}")
    positions_rad = np.array([float(mean[state.names.index(name)]) for name in twin.robot.arm_joints])
    basis = np.zeros((space.action.shape[0], DIRECTIONS))
    for row, name in enumerate(twin.robot.arm_joints):
        basis[space.action.names.index(name)] = tool_directions(twin, positions_rad)[row]
    residual.residual.get_buffer("basis").copy_(torch.from_numpy(basis))
    return residual.train()


def tool_directions(twin: Twin, positions_rad: np.ndarray) -> np.ndarray:
    """(joints, 4) steps of the joints that move the tool by `SHIFT_M` along x, y and z, and turn it by `TURN_RAD`."""
    model = twin.model
    joints = np.asarray(twin.arm_joints)
    data = mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[joints]] = positions_rad
    mujoco.mj_forward(model, data)
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacSite(model, data, linear, angular, twin.tool_site)
    jacobian = np.vstack([linear, angular])[:, model.jnt_dofadr[joints]]
    # The least-norm step that moves the tool as asked and does not tilt it, as far as the arm can.
    return np.linalg.pinv(jacobian)[:, [0, 1, 2, 5]] * np.array([SHIFT_M, SHIFT_M, SHIFT_M, TURN_RAD])
