"""Environments of legged robots: reproducible, with named failures and refusals that say what to do."""

from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import ConfigError, UsageError
from twinloop.run.twin import twin_of

HURDLES = """\
scene: {robot: quadruped, terrain: %s}
commands: {forward_m_s: [0.8, 1.0], standing_share: 0}
randomization:
  physics: {payload_kg: [0, 3], ground_friction_coefficient: %s}
  sensing: {encoder_noise_mrad: [0, 5], gyro_bias_mrad_s: [-10, 10]}
  environment: {push_speed_m_s: [0, 0.5], terrain_level_share: [0, 1]}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path, HURDLES % ("flat", "[0.3, 1.2]"))


def written(folder: Path, text: str) -> Path:
    file = folder / "walk.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def play(env: VectorTwinEnv, steps: int, *, size: float = 0.3) -> tuple[np.ndarray, list[str]]:
    """Observations of an action that depends on the step only, and the reasons of all ends."""
    seen, reasons = [env.reset()[0]], []
    for step in range(steps):
        actions = np.broadcast_to(size * np.sin(0.3 * step + np.arange(env.robot.action.shape[0])), env._action.shape)
        observation, _, terminated, truncated, infos = env.step(actions)
        seen.append(observation)
        if (terminated | truncated).any():
            reasons += [str(reason) for reason in infos["final_info"]["reason"][terminated | truncated]]
    return np.array(seen), reasons


def test_a_slot_that_waits_keeps_its_command_noise(tmp_path: Path):
    rows = "randomization: {latency: {command_loss_share: [0.2, 0.4]}}\n"
    env = tl.make_env(written(tmp_path, f"scene: {{robot: quadruped}}\n{rows}"), num_envs=2, seed=0)
    assert isinstance(env, VectorTwinEnv)
    env.reset()
    drive = env.robot._drive  # type: ignore[attr-defined]
    before = drive.tick.copy()
    env.robot.step(np.array([0]), env.robot.scale.centre + np.zeros((2, env.robot.action.shape[0])))
    assert (drive.tick - before).tolist() == [1, 0]


def test_an_episode_is_decided_by_seed_and_index(config: Path):
    one, again = (play(tl.make_env(config, num_envs=6, seed=3), 30)[0] for _ in range(2))
    np.testing.assert_array_equal(one, again)
    few, _ = play(tl.make_env(config, num_envs=2, seed=3, threads=2), 30)
    np.testing.assert_array_equal(one[:, :2], few)
    other, _ = play(tl.make_env(config, num_envs=2, seed=4), 5)
    assert not np.array_equal(few[:6], other)


def test_a_saved_environment_continues_exactly(config: Path):
    env, resumed = (tl.make_env(config, num_envs=3, seed=1) for _ in range(2))
    play(env, 25)
    resumed.restore(env.state())
    actions = np.full((3, 12), 0.1, np.float32)
    for _ in range(5):
        np.testing.assert_array_equal(env.step(actions)[0], resumed.step(actions)[0])


def test_falls_have_names(tmp_path: Path):
    """Legs that fold let the robot fall; on ice it slips; a robot that does not follow a command to walk is stuck."""
    flat = written(tmp_path, HURDLES % ("flat", "1.0"))
    _, folded = play(tl.make_env(flat, num_envs=4, seed=0), 60, size=1.0)
    assert folded
    assert set(folded) <= {"fell", "slipped", "tripped", "collided"}
    ice = written(tmp_path, HURDLES % ("flat", "0.02"))
    _, iced = play(tl.make_env(ice, num_envs=8, seed=0), 150, size=1.0)
    assert "slipped" in iced
    _, still = play(tl.make_env(flat, num_envs=4, seed=0), 215, size=0.0)
    assert "stuck" in still


def test_a_robot_that_stands_well_gets_more_reward_than_one_that_shakes(config: Path):
    env = tl.make_env(config, num_envs=16, seed=0)
    totals = []
    for size in (0.0, 0.7):
        env.reset(seed=0)
        totals.append(sum(env.step(np.full((16, 12), size * (-1) ** step))[1].mean() for step in range(40)))
    assert totals[0] > totals[1]


def test_every_terrain_and_robot_gives_an_environment(tmp_path: Path):
    for robot in ("quadruped", "humanoid"):
        for terrain in ("flat", "rough", "stepped", "mixed"):
            env = tl.make_env(written(tmp_path, f"scene: {{robot: {robot}, terrain: {terrain}}}"), num_envs=2, seed=0)
            seen, reasons = play(env, 10)
            assert np.isfinite(seen).all()
            assert "diverged" not in reasons


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scene: {robot: quadruped, terrain: steped}", ["walk.yaml", "terrain", "steped", "stepped"]),
        ("scene: {robot: quadruped, start_height_m: 0.1}", ["start_height_m", "inside the ground", "0.327"]),
        ("scene: {robot: quadruped, object: cube}", ["object"]),
        ("scene: {robot: quadruped}\ncameras: {front: {}}", ["cameras", "legged"]),
        ("scene: {robot: quadruped}\nrandomization: {physics: {object_mass_kg: 1}}", ["object_mass_kg", "arms"]),
        ("scene: {robot: franka_panda}\nrandomization: {physics: {payload_kg: 1}}", ["payload_kg", "legged robots"]),
        ("scene: {robot: quadruped}\ncommands: {forward_m_s: [2, 1]}", ["forward_m_s"]),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(tmp_path: Path, text: str, words: list[str]):
    with pytest.raises(ConfigError) as refusal:
        tl.load_config(written(tmp_path, text))
    for word in words:
        assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("observations: [observation.environment_state]", ["quadruped has no sensor", "observation.state"]),
        ("observations: [base_velocity]", ["base_velocity", "privileged"]),
        ("rewards: {reach: 1}", ["reach", "reward term of quadruped"]),
        ("terminations: [fel]", ["fel", "fell"]),
    ],
)
def test_terms_that_a_legged_robot_does_not_have_are_refused(tmp_path: Path, section: str, words: list[str]):
    config = written(tmp_path, f"scene: {{robot: quadruped}}\nenvironment: {{{section}}}")
    with pytest.raises(UsageError) as refusal:
        tl.make_env(config, num_envs=1)
    for word in words:
        assert word in str(refusal.value)


def test_commands_for_arms_refuse_a_legged_robot(config: Path):
    with pytest.raises(UsageError, match=r"quadruped has legs.*reinforce"):
        twin_of(tl.load_config(config))
    assert "payload_kg" in {row.name for row in tl.explain(config, probe=False).rows}


SHORT = """\
scene: {robot: quadruped}
randomization: {physics: {payload_kg: [0, 3]}, sensing: {encoder_noise_mrad: [0, 5]}}
environment: {time_limit_s: 1.5}
"""


def test_the_scripted_trot_follows_its_command(tmp_path: Path):
    from twinloop.environments.legs import LegsEmbodiment
    from twinloop.environments.mobile_rollout import expert_act, mobile_rollout
    from twinloop.run.walk import WalkConfig

    text = (
        "scene: {robot: quadruped}\ncommands: {forward_m_s: 0.5, sideways_m_s: 0, turn_rad_s: 0, standing_share: 0}\n"
    )
    config = tl.load_config(written(tmp_path, text + "environment: {time_limit_s: 6}"))
    assert isinstance(config, WalkConfig)
    robot = LegsEmbodiment(config, width=2, seed=0)
    walks = mobile_rollout(robot, expert_act(robot), 0)
    assert walks.success.all()
    assert (walks.checks["velocity_error_m_s"] < 0.3).all()  # the first second is the way from standing to 0.5 m/s
    moved = np.linalg.norm(robot.cell.base_position[:, :2] - robot.cell.start_xy_m, axis=1)
    np.testing.assert_allclose(moved, 3.0, atol=0.8)


def test_rollouts_are_a_dataset_with_rewards_that_can_be_viewed(tmp_path: Path):
    from twinloop.dashboard.rerun.stored_episode import read_stored_episode

    config = written(tmp_path, SHORT)
    dataset, again = (tl.generate(config, tmp_path / name, episodes=3) for name in ("one", "two"))
    frames = dataset.episode(1)
    assert frames["next.reward"].shape == (75,)
    assert np.isfinite(frames["next.reward"]).all()
    assert frames["next.done"].tolist() == [False] * 74 + [True]
    np.testing.assert_array_equal(frames["observation.state"], again.episode(1)["observation.state"])
    rows = dataset.attempts().to_pylist()
    assert {row["failure"] for row in rows} == {""}
    assert all(row["check/velocity_error_m_s"] < 1 for row in rows)
    viewed = read_stored_episode(dataset, episode_index=1)
    assert viewed.poses is not None
    np.testing.assert_allclose(
        viewed.poses.tool_to_world[:, :3, 3], frames["observation.environment_state"][:, :3], atol=1e-5
    )


def test_the_critic_sees_the_ground_around_a_robot_on_steps(tmp_path: Path):
    env = tl.make_env(written(tmp_path, HURDLES % ("stepped", "[0.8, 0.8]")), num_envs=32, seed=0)
    assert isinstance(env, VectorTwinEnv)
    env.reset()
    columns = [place for place, name in enumerate(env.groups.critic_names) if name.startswith("height_scan.")]
    scan = env.observations["critic"][:, columns].reshape(32, 6, 5)
    near = scan[:, 1:4]  # 0.2 m behind to 0.2 m in front of the base: the level square of the start
    assert np.ptp(near, axis=(1, 2)).max() < 1e-6
    np.testing.assert_allclose(near, -0.005, atol=1e-3)  # the feet start 5 mm above the ground
    assert not any("height_scan" in name for name in env.layout)
    flat = tl.make_env(written(tmp_path, HURDLES % ("flat", "[0.8, 0.8]")), num_envs=1, seed=0)
    assert isinstance(flat, VectorTwinEnv)
    assert not any("height_scan" in name for name in flat.groups.critic_names)


def test_clearance_is_measured_from_the_ground_around_feet_and_trunk(tmp_path: Path):
    rewards = "environment: {rewards: {trunk_clearance: 1, swing_clearance: 1}}\n"
    text = "scene: {robot: quadruped, terrain: stepped}\ncommands: {forward_m_s: 0.5, standing_share: 0}\n"
    env = tl.make_env(written(tmp_path, text + rewards), num_envs=8, seed=0)
    assert isinstance(env, VectorTwinEnv)
    env.reset()
    cell = env.robot.cell  # type: ignore[attr-defined]
    terms = [env.step(np.zeros((8, 12), np.float32))[4]["reward_terms"] for _ in range(12)]
    assert all((step["trunk_clearance"] == 0).all() for step in terms)
    assert max(step["swing_clearance"].max() for step in terms) > 0  # feet that should swing stay on the ground
    cell.base_position[:, 2] -= 0.15
    assert (env._weighted(env._step_state(), np.zeros(8, bool))["trunk_clearance"] > 0).all()


def test_a_config_may_vary_one_element_of_a_row(tmp_path: Path):
    rows = "randomization: {sensing: {x.gyro_bias_mrad_s: [5, 10]}}\n"
    env = tl.make_env(written(tmp_path, f"scene: {{robot: quadruped}}\n{rows}"), num_envs=2, seed=0)
    observations, _ = env.reset()
    assert np.isfinite(observations).all()
