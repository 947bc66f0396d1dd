"""The localiser: forward kinematics equal the engine's, two estimates are fused, and labels teach it."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import mujoco
import numpy as np
import pytest
import torch

from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.onnx import export_onnx
from twinloop.learn.policies import POLICIES
from twinloop.learn.policies._forward_kinematics import ForwardKinematics
from twinloop.learn.policies._localiser import Localiser, Located, with_errors
from twinloop.learn.scales import CHAIN_ROW, Scales, blank_scales
from twinloop.learn.space import STATE, Space
from twinloop.learn.tool_chain import ToolChain, chain_of
from twinloop.observe.estimate import model_of
from twinloop.observe.recording import Feature
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.twin import Twin


def space_of(twin: Twin) -> Space:
    names = twin.robot.state_names
    state = Feature(STATE, "float32", (len(names),), names, "rad")
    return Space(twin.robot.name, 25.0, (state,), replace(state, name="action"))


def tool_pose(twin: Twin) -> ForwardKinematics:
    constants = KinematicChain(twin.model, twin.arm_joints, twin.tool_site).constants()
    return ForwardKinematics(space_of(twin), twin.robot.arm_joints, constants.tolist())


def postures(twin: Twin, count: int) -> torch.Tensor:
    low, high = twin.arm_limits_rad.T
    arm = np.random.default_rng(3).uniform(low, high, (count, len(low)))
    return torch.tensor(np.column_stack([arm, np.zeros((count, 1))]), dtype=torch.float32)


@pytest.mark.parametrize("robot", ["franka_panda", "so101"])
def test_the_pose_of_the_tool_is_that_of_the_engine(robot: str):
    twin = model_of(robot, 25)
    states = postures(twin, 5)
    position, rotation = tool_pose(twin)({STATE: states})
    data = mujoco.MjData(twin.model)
    for row, state in enumerate(states.double().numpy()):
        data.qpos[twin.arm_qpos] = state[:-1]
        mujoco.mj_kinematics(twin.model, data)
        np.testing.assert_allclose(position[row], data.site_xpos[twin.tool_site], atol=1e-5)
        np.testing.assert_allclose(rotation[row].reshape(-1), data.site_xmat[twin.tool_site], atol=1e-5)


def test_a_policy_finds_the_chain_of_the_robot_of_its_data(tmp_path: Path):
    twin = model_of("franka_panda", 25)

    def chain(space: Space) -> ToolChain | None:
        return chain_of(cast(Demonstrations, SimpleNamespace(dataset=SimpleNamespace(path=tmp_path), space=space)))

    panda = chain(space_of(twin))
    assert panda is not None
    assert panda.joints == twin.robot.arm_joints
    assert panda.constants.shape == (8, CHAIN_ROW)
    assert chain(replace(space_of(twin), robot="unknown")) is None
    assert chain(space_of(model_of("dual_panda", 25))) is None


def test_a_policy_with_kinematics_survives_onnx(tmp_path: Path):
    pytest.importorskip("onnxscript", reason="needs twinloop[onnx]")
    twin = model_of("franka_panda", 25)
    camera = Feature("observation.images.wrist", "video", (32, 32, 3), ("height", "width", "channels"), "RGB")
    space = replace(space_of(twin), inputs=(*space_of(twin).inputs, camera))
    constants = KinematicChain(twin.model, twin.arm_joints, twin.tool_site).constants().tolist()
    scales = replace(blank_scales(space, 2, 1, 7), chain=constants)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        policy = POLICIES["act"](
            space, scales, horizon=2, width=32, heads=2, encoder_layers=1, image_size=32, landmarks="object",
            tool_joints=",".join(twin.robot.arm_joints),
        )  # fmt: skip
    parity = export_onnx(policy, space, tmp_path / "policy.onnx", card_digest="0" * 64, seed=0)
    assert parity.max_abs_difference <= parity.tolerance


def localiser(twin: Twin, seen: int) -> Localiser:
    scales = Scales({}, [], ([], []), landmarks=([0.4, 0.0, 0.0, 1.0, 0.0], [0.1, 0.1, 0.1, 1.0, 1.0]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Localiser(1, seen, scales, tool_pose(twin), hidden=64)


def test_a_thing_that_is_seen_from_the_tool_is_located_in_the_frame_of_the_base():
    """The image of the wrist camera does not change with the posture; the kinematics give the place."""
    twin = model_of("franka_panda", 25)
    network = localiser(twin, 3)
    states, rng = postures(twin, 512), torch.Generator().manual_seed(1)
    assert network.tool is not None
    position, rotation = network.tool({STATE: states})
    offsets = 0.1 * torch.rand(512, 3, generator=rng) - 0.05
    places = position + (rotation @ offsets[..., None])[..., 0]
    labels = torch.cat([places, torch.ones(512, 1), torch.zeros(512, 1)], dim=1)[:, None]
    labels[0] = torch.nan  # a frame without a label
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(150):
        optimiser.zero_grad()
        _, loss = network(20 * offsets[:384], {STATE: states[:384]}, labels[:384])
        loss.backward()
        optimiser.step()
    located, none = network(20 * offsets[384:], {STATE: states[384:]}, None)
    assert none is None
    away = (located.poses[:, 0, :3] - places[384:]).norm(dim=1)
    assert away.median() < 0.01  # the tool itself is anywhere within a metre
    assert away.median() / 4 < located.log_error.exp().median() < 4 * away.median()


def test_descriptions_are_finite_and_errors_have_the_expected_size():
    twin = model_of("franka_panda", 25)
    network, states = localiser(twin, 2), postures(twin, 2000)
    located = Located(torch.zeros(2000, 1, 5), torch.full((2000, 1), np.log(0.02)))
    moved = with_errors(located, torch.Generator().manual_seed(0))
    assert float(moved.poses[..., :3].norm(dim=2).mean()) == pytest.approx(0.02, rel=0.05)
    assert torch.equal(Located.of(moved.flat()).poses, moved.poses)
    described = network.describe(moved, {STATE: states})
    assert described.shape == (2000, 1, network.width)
    assert described.isfinite().all()
