"""Legs: imitate briefly, improve by PPO, evaluate; policies of other robots are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from twinloop.errors import CheckpointError, UsageError
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import candidate_of
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.recipes import imitation_config, recipe, terrain_config, walking_config
from twinloop.learn.reinforce.start import reinforce

WALK = """\
scene: {robot: %s}
commands: {forward_m_s: [0.2, 0.5], sideways_m_s: 0, turn_rad_s: 0, standing_share: 0}
randomization: {physics: {payload_kg: [0, 2], ground_friction_coefficient: [0.4, 1.2]}}
environment: {time_limit_s: 2}
"""
SMALL = replace(imitation_config(), num_envs=12, steps=16, width=32, depth=1, seed=1)


def config_of(folder: Path, robot: str = "quadruped") -> tl.RunConfig:
    file = folder / f"{robot}.yaml"
    file.write_text(WALK % robot, encoding="utf-8")
    return tl.load_config(file)


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cloned")
    result = reinforce(config_of(folder), folder / "policy", replace(SMALL, iterations=6))
    losses = [record.figures["loss/imitation"] for record in result.curve]
    assert losses[-1] < 0.5 * losses[0]
    return folder / "policy"


def test_a_killed_imitation_continues_to_the_same_weights(tmp_path: Path):
    config = config_of(tmp_path)
    whole = reinforce(config, tmp_path / "whole", replace(SMALL, iterations=3))
    reinforce(config, tmp_path / "parts", replace(SMALL, iterations=1, save_every=1))
    parts = reinforce(config, tmp_path / "parts", replace(SMALL, iterations=3))
    assert parts.resumed_from == 1
    for one, other in zip(whole.checkpoint.policy.parameters(), parts.checkpoint.policy.parameters(), strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


def test_ppo_improves_a_clone_and_evaluation_judges_it(tmp_path: Path, cloned: Path):
    config = config_of(tmp_path)
    small = ReinforceConfig(iterations=2, num_envs=12, steps=8, noise=0.1, critic_first=1, seed=2)
    before = [parameter.detach().clone() for parameter in load(cloned).policy.parameters()]
    result = reinforce(config, tmp_path / "tuned", small, parent=load(cloned))
    changed = [
        not np.array_equal(one.numpy(), other.detach().numpy())
        for one, other in zip(before, result.checkpoint.policy.parameters(), strict=True)
    ]
    assert any(changed)
    candidate = candidate_of(tmp_path / "tuned")
    one, again = (
        evaluate(candidate, config.with_seed(90), config_name="walk", episodes=episodes, workers=1)
        for episodes in (20, 4)
    )
    assert len(one.outcomes) == 20
    assert set(one.failures) <= {"fell", "slipped", "tripped", "collided", "stuck"}
    assert {rates.column for rates in one.parameters} == {"payload_kg", "ground_friction_coefficient"}
    np.testing.assert_array_equal(
        one.outcomes.checks["velocity_error_m_s"][:4], again.outcomes.checks["velocity_error_m_s"]
    )


def test_a_policy_of_another_morphology_is_refused(tmp_path: Path, cloned: Path):
    with pytest.raises(CheckpointError, match=r"does not fit the humanoid(.|\n)*robot"):
        evaluate(
            candidate_of(cloned), config_of(tmp_path, "humanoid").with_seed(90), config_name="walk", episodes=2,
            workers=1,
        )  # fmt: skip
    arm = tmp_path / "arm.yaml"
    arm.write_text("scene: {}", encoding="utf-8")
    with pytest.raises(CheckpointError, match="does not fit"):
        evaluate(candidate_of(cloned), tl.load_config(arm).with_seed(90), config_name="arm", episodes=2, workers=1)


def test_the_api_imitates_an_expert_with_the_recipe_of_the_robot(tmp_path: Path):
    settings = {"num_envs": 4, "steps": 4, "width": 16, "depth": 1}
    checkpoint = tl.reinforce(config_of(tmp_path, "humanoid"), tmp_path / "cloned", algorithm="imitate", iterations=1,
                              settings=settings)  # fmt: skip
    assert checkpoint.card.training["learning_rate"] == imitation_config().learning_rate
    with pytest.raises(UsageError, match="imitat' was given; one of ppo, sac, distill, imitate was expected"):
        tl.reinforce(config_of(tmp_path), tmp_path / "none", algorithm="imitat")


def test_the_recipe_depends_on_robot_and_ground(tmp_path: Path):
    texts = ("robot: humanoid", "robot: quadruped", "robot: quadruped, terrain: stepped")
    file = tmp_path / "walk.yaml"
    configs = []
    for text in texts:
        file.write_text(f"scene: {{{text}}}\n", encoding="utf-8")
        configs.append(tl.load_config(file))
    humanoid, flat, stepped = configs
    assert recipe(humanoid, "imitate", improves=False).noise < recipe(flat, "imitate", improves=False).noise
    assert recipe(humanoid, "ppo", improves=True).noise < walking_config().noise
    assert recipe(flat, "ppo", improves=True) == walking_config()
    assert recipe(stepped, "ppo", improves=True) == terrain_config()
