"""Laws of the residual of a cloned policy: it moves the tool, and it alone is trained."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from tests.environments.cells import config_of
from twinloop.environments.arm import ArmEmbodiment
from twinloop.environments.make import vector_env
from twinloop.learn.checkpoint import load
from twinloop.learn.onnx import export_onnx
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.fresh_policy import space_of_env
from twinloop.learn.reinforce.start import reinforce
from twinloop.learn.reinforce.tool_residual import SHIFT_M, TURN_RAD, tool_directions, with_residual
from twinloop.learn.scales import blank_scales
from twinloop.learn.space import Space
from twinloop.run.twin import twin_of
from twinloop.twin.twin import Twin

SHORT = "{time_limit_s: 0.32}"
SMALL = ReinforceConfig(
    iterations=2, num_envs=4, steps=4, save_every=1, epochs=2, mini_batches=2, noise=0.3, leash=0.01, residual=True
)


def cloned(horizon: int = 4) -> tuple[MlpPolicy, Space, Twin]:
    """A policy with chunks, as cloning makes it, its space and the twin."""
    env = vector_env(config_of(SHORT), num_envs=2, seed=0, threads=1)
    assert isinstance(env.robot, ArmEmbodiment)
    space, scale = space_of_env(env), env.robot.scale
    rows = [scale.centre.tolist()] * horizon, [scale.span.tolist()] * horizon
    scales = replace(blank_scales(space, horizon), relative=scale.relative.tolist(), action=rows)
    torch.manual_seed(0)
    return MlpPolicy(space, scales, horizon=horizon, executed=3, width=16, depth=1), space, env.robot.twin


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("policies") / "parent"
    reinforce(config_of(SHORT), out, replace(SMALL, iterations=1, residual=False, width=16, depth=1), threads=1)
    return out


def test_the_directions_move_the_tool_without_tilting_it():
    twin = twin_of(config_of(SHORT))
    home = np.array(twin.robot.home_rad)
    data = mujoco.MjData(twin.model)

    def tool(positions_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data.qpos[twin.model.jnt_qposadr[twin.arm_joints]] = positions_rad
        mujoco.mj_forward(twin.model, data)
        return data.site_xpos[twin.tool_site].copy(), data.site_xmat[twin.tool_site].reshape(3, 3).copy()

    place, axes = tool(home)
    for number, step in enumerate(tool_directions(twin, home).T):
        moved, turned = tool(home + 0.1 * step)
        expected = 0.1 * SHIFT_M * np.eye(4)[number, :3]
        assert np.allclose(moved - place, expected, atol=5e-5)
        turn_rad = [turned[:, 0] @ axes[:, 1], turned[:, 2] @ axes[:, 0], turned[:, 2] @ axes[:, 1]]
        assert abs(turn_rad[0]) == pytest.approx(0.1 * TURN_RAD * (number == 3), abs=5e-4)
        assert np.allclose(turn_rad[1:], 0, atol=5e-4)


def test_a_new_residual_hardly_changes_the_actions_and_a_shift_moves_the_whole_chunk():
    policy, space, twin = cloned()
    residual = with_residual(policy, space, twin, seed=0)
    inputs = policy.vectors.examples(5, generator=torch.Generator().manual_seed(0))
    real, noise = torch.zeros(5), torch.zeros(5, 4, 8)
    with torch.no_grad():
        before, after = policy(inputs, real, noise), residual(inputs, real, noise)
        assert 0 < (after - before).abs().max() < 0.01
        assert residual.residual is not None
        shifts = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).repeat(5, 1)
        code = residual.head(residual.trunk(inputs, real))
        offsets = residual.code.decode(residual.shifted(code, shifts), inputs) - before
    joints = tool_directions(twin, np.zeros(7))[:, 0]  # the mean of blank scales
    assert np.allclose(offsets[:, :, :7].numpy(), joints, atol=1e-5)
    assert np.allclose(offsets[:, :, 7].numpy(), 0, atol=1e-6)
    assert with_residual(residual, space, twin, seed=0) is residual


def test_only_the_residual_is_trained_and_the_checkpoint_acts_with_it(parent: Path, tmp_path: Path):
    result = reinforce(config_of(SHORT), tmp_path / "tuned", SMALL, parent=load(parent), threads=1)
    first, tuned = load(parent).policy.state_dict(), result.checkpoint.policy.state_dict()
    assert all(torch.equal(tuned[name], values) for name, values in first.items())
    assert result.checkpoint.card.settings["residual"] == 4
    assert abs(result.curve[0].figures["divergence"]) < 1e-5
    space, policy = result.checkpoint.card.space, result.checkpoint.policy
    assert export_onnx(policy, space, tmp_path / "policy.onnx", card_digest="", seed=0).max_abs_difference < 1e-4


def test_a_killed_training_of_a_residual_continues_to_the_same_weights(parent: Path, tmp_path: Path):
    whole = reinforce(config_of(SHORT), tmp_path / "whole", SMALL, parent=load(parent), threads=1)
    reinforce(config_of(SHORT), tmp_path / "parts", replace(SMALL, iterations=1), parent=load(parent), threads=1)
    parts = reinforce(config_of(SHORT), tmp_path / "parts", SMALL, parent=load(parent), threads=1)
    assert parts.resumed_from == 1
    assert parts.checkpoint.card.weights == whole.checkpoint.card.weights
