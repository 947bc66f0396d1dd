"""Environments of robots on wheels: reproducible, with named failures and refusals that say what to do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile_rollout import expert_act, mobile_rollout, verdicts
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.environments.wheels import WheelsEmbodiment
from twinloop.errors import ConfigError, UsageError
from twinloop.run.twin import twin_of
from twinloop.run.wheels import WheelsConfig

ROOMS = """\
scene: {robot: diff_drive, task: go_to_goal, lidar_rays: 24}
randomization:
  physics: {payload_kg: [0, 3], wheel_slip_share: [0, 0.03]}
  latency: {observation_delay_ms: [0, 60], command_loss_share: [0, 0.1]}
  sensing: {lidar_noise_share: [0, 0.01], lidar_dropout_share: [0, 0.05]}
  environment: {furniture_count: [2, 6.99]}
  human: {people_count: [0, 2.99]}
"""
BLOCKED = """\
scene: {robot: diff_drive, lidar_rays: 12, start: [-2, 0, 0], goal_m: [2, 0], furniture: [[0, 0, 0.3, 6, 0]]}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "drive.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def embodiment(folder: Path, text: str, *, width: int) -> WheelsEmbodiment:
    config = tl.load_config(written(folder, text))
    assert isinstance(config, WheelsConfig)
    robot = mobile_embodiment(config, width=width, seed=0)
    assert isinstance(robot, WheelsEmbodiment)
    return robot


def play(env: VectorTwinEnv, steps: int) -> np.ndarray:
    """Observations of an action that depends on the step only."""
    seen = [env.reset()[0]]
    for step in range(steps):
        actions = np.broadcast_to(0.6 * np.sin(0.3 * step + np.arange(2)), (env.num_envs, 2))
        seen.append(env.step(actions)[0])
    return np.array(seen)


def test_environments_are_reproducible_at_any_number_of_threads_and_can_be_resumed(tmp_path: Path):
    config = written(tmp_path, ROOMS)
    one, two = (tl.make_env(config, num_envs=3, seed=4, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(play(one, 20), play(two, 20))
    resumed, guided = (tl.make_env(config, num_envs=3, seed=4) for _ in range(2))
    for env in (resumed, guided):
        env.robot.use_expert()  # pyright: ignore
    play(guided, 20)
    resumed.restore(one.state())
    for _ in range(4):
        seen = [env.step(np.ones((3, 2)))[0] for env in (one, resumed, guided)]
        np.testing.assert_array_equal(seen[0], seen[1])
        np.testing.assert_array_equal(guided.robot.expert_command(), resumed.robot.expert_command())  # pyright: ignore
    wide = play(tl.make_env(config, num_envs=5, seed=4), 6)
    np.testing.assert_array_equal(wide[:, :3], play(tl.make_env(config, num_envs=3, seed=4), 6))


def test_the_expert_arrives_and_a_robot_that_drives_on_collides(tmp_path: Path):
    text = "scene: {robot: diff_drive, lidar_rays: 12, start: [-2, 0, 90], goal_m: [2, 0], furniture: %s}\n"
    robot = embodiment(tmp_path, text % "[[0, 0, 0.5, 1.5, 10]]", width=1)
    episodes = mobile_rollout(robot, expert_act(robot), 0)
    assert episodes.success.all()
    assert episodes.checks["closest_m"][0] > 0.03
    straight = embodiment(tmp_path, (text % "[[-2, 1.5, 1, 0.5, 0]]"), width=1)
    bumped = mobile_rollout(straight, lambda _seen, _tick: np.array([[0.7, 0.0]]), 0)
    assert bumped.failure.tolist() == ["collided"]
    still = embodiment(tmp_path, text % "[]", width=1)
    assert mobile_rollout(still, lambda _seen, _tick: np.zeros((1, 2)), 0).failure.tolist() == ["stuck"]


def test_a_robot_that_circles_runs_out_of_time(tmp_path: Path):
    text = "scene: {robot: diff_drive, lidar_rays: 12, start: [-1, 0, 0], goal_m: [2, 2]}\n"
    robot = embodiment(tmp_path, text + "environment: {time_limit_s: 3}\n", width=1)
    assert mobile_rollout(robot, lambda _seen, _tick: np.array([[0.3, 1.9]]), 0).failure.tolist() == ["timeout"]


def test_a_room_without_a_path_is_rejected_before_it_is_simulated(tmp_path: Path):
    robot = embodiment(tmp_path, BLOCKED, width=2)
    episodes = mobile_rollout(robot, expert_act(robot), 0, record=True)
    assert episodes.lengths.tolist() == [0, 0]
    assert verdicts(episodes).tolist() == ["no_path", "no_path"]
    dataset = tl.generate(tmp_path / "drive.yaml", tmp_path / "blocked", episodes=2)
    assert [row["verdict"] for row in dataset.attempts().to_pylist()] == ["no_path"] * 2
    env = tl.make_env(tmp_path / "drive.yaml", num_envs=1, seed=0)
    env.reset()
    *_, infos = env.step(np.zeros((1, 2)))
    assert infos["final_info"]["reason"].tolist() == ["no_path"]


def test_sensors_are_those_of_the_floor_plan_and_the_wheels(tmp_path: Path):
    text = "scene: {robot: diff_drive, lidar_rays: 8, start: [-1, 0, 0], goal_m: [1, 0], furniture: []}\n"
    robot = embodiment(tmp_path, text, width=1)
    robot.begin(np.array([0]), robot.draw(0, 1), np.array([0]))
    seen = robot.observe(None)
    np.testing.assert_allclose(seen["observation.lidar"][0, [0, 2, 4]], [4.0, 3.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(seen["observation.goal"][0], [2.0, 1.0, 0.0], atol=1e-6)
    for _ in range(20):
        robot.step(None, np.array([[0.5, 0.3]]))
        seen = robot.observe(None)
    true = robot.cell.goal_m[0] - robot.cell.position_m[0]
    assert seen["observation.goal"][0, 0] == pytest.approx(np.linalg.norm(true), abs=0.01)
    assert seen["observation.speed"][0] == pytest.approx([0.5, 0.3], abs=0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scene: {robot: diff_drive, lidar_rays: 0}", ["drive.yaml", "lidar_rays", "0"]),
        ("scene: {robot: diff_drive, goal_m: [1, 1], furniture: [[1, 1, 1, 1, 0]]}", ["goal_m", "inside", "piece 0"]),
        ("scene: {robot: diff_drive, start: [1.6, 1, 0], furniture: [[1, 1, 1, 1, 0]]}", ["start", "piece 0", "0.18"]),
        ("scene: {robot: diff_drive, furniture: [[1, 1, 0, 1, 0]]}", ["furniture", "more than 0"]),
        ("scene: {robot: diff_drive, terrain: flat}", ["terrain"]),
        ("scene: {robot: diff_drive}\ncommands: {}", ["commands", "robot on wheels"]),
        ("scene: {robot: diff_drive}\nrandomization: {physics: {object_mass_kg: 1}}", ["object_mass_kg", "arms"]),
        ("scene: {robot: quadruped}\nrandomization: {sensing: {lidar_bias_mm: 1}}", ["lidar_bias_mm", "wheels"]),
        ("scene: {robot: diff_drive, task: walk}", ["task", "go_to_goal"]),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(tmp_path: Path, text: str, words: list[str]):
    with pytest.raises(ConfigError) as refusal:
        tl.load_config(written(tmp_path, text))
    for word in words:
        assert word in str(refusal.value)


def test_terms_and_commands_of_other_robots_are_refused(tmp_path: Path):
    config = written(tmp_path, "scene: {robot: diff_drive}\nenvironment: {rewards: {gait: 1}}")
    with pytest.raises(UsageError, match=r"gait.*reward term of diff_drive"):
        tl.make_env(config, num_envs=1)
    with pytest.raises(UsageError, match="task of diff_drive is go_to_goal"):
        tl.load_config(config).with_task("pick_and_place")
    with pytest.raises(UsageError, match="diff_drive has wheels"):
        twin_of(tl.load_config(config))


def test_rollouts_are_a_dataset_that_can_be_explained_and_viewed(tmp_path: Path):
    from twinloop.dashboard.rerun.record import record
    from twinloop.dashboard.rerun.stored_episode import read_stored_episode

    config = written(tmp_path, ROOMS + "environment: {time_limit_s: 3}\n")
    dataset, again = (tl.generate(config, tmp_path / name, episodes=2) for name in ("one", "two"))
    frames = dataset.episode(1)
    assert frames["observation.lidar"].shape == (30, 24)
    np.testing.assert_array_equal(frames["observation.lidar"], again.episode(1)["observation.lidar"])
    assert np.isfinite(frames["next.reward"]).all()
    assert {row["failure"] for row in dataset.attempts().to_pylist()} == {"timeout"}
    viewed = read_stored_episode(dataset, episode_index=1)
    assert viewed.poses is not None
    place = frames["observation.environment_state"][:, :3]
    np.testing.assert_allclose(viewed.poses.tool_to_world[:, :3, 3], place, atol=1e-5)
    assert "world/lidar" in record(viewed, tmp_path / "episode.rrd").entities
    explanation = tl.explain(config, episodes=2)
    assert explanation.estimate is not None
    assert explanation.estimate.failures == {"timeout": 2}


def test_generating_data_needs_no_gymnasium():
    script = "import sys, twinloop.dataset.mobile; print('gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False"]
