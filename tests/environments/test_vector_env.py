"""Laws of environments: an episode depends on seed and index only; termination and truncation are distinguished."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from tests.environments.cells import NOISY, config_of, envs_of
from twinloop.environments.arm import ArmEmbodiment
from twinloop.environments.curriculum import LevelCurriculum
from twinloop.environments.registration import id_of, register_envs
from twinloop.environments.single_env import TwinEnv
from twinloop.environments.table import all_terms
from twinloop.environments.term import Term
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import TermError, UsageError
from twinloop.observe.features import features_of
from twinloop.run.environment import EnvironmentConfig
from twinloop.twin.tasks import tasks


def actions_of(envs: VectorTwinEnv, steps: int, *, seed: int = 0) -> np.ndarray:
    shape = (steps, envs.num_envs, envs.robot.action.shape[0])
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def still(envs: VectorTwinEnv) -> np.ndarray:
    return np.zeros((envs.num_envs, envs.robot.action.shape[0]))


def played(envs: VectorTwinEnv, actions: np.ndarray) -> list[np.ndarray]:
    """Observations and rewards of every step."""
    observations, _ = envs.reset()
    rows = [observations]
    for action in actions:
        observations, rewards, *_ = envs.step(action)
        rows.append(np.column_stack([observations, rewards]))
    return rows


def test_the_same_seed_gives_the_same_bits_at_any_number_of_threads():
    once, twice = envs_of(), envs_of(threads=2)
    actions = actions_of(once, 14)
    for first, second in zip(played(once, actions), played(twice, actions), strict=True):
        assert np.array_equal(first, second)
    other = envs_of(seed=6)
    assert not np.array_equal(played(other, actions)[0], played(once, actions)[0])


def test_an_environment_does_not_depend_on_the_others():
    calm, wild = envs_of(), envs_of()
    actions = actions_of(calm, 14)
    others = actions.copy()
    others[:, 1:] = actions_of(calm, 14, seed=9)[:, 1:]
    for first, second in zip(played(calm, actions), played(wild, others), strict=True):
        assert np.array_equal(first[0], second[0])


def test_a_saved_environment_continues_exactly():
    original = envs_of("{time_limit_s: 0.6, curriculum: {rising: 0.2}}")
    actions = actions_of(original, 30)
    original.reset()
    for action in actions[:10]:
        original.step(action)
    original._rounds[0] += 1
    original._begin(np.array([0]))
    for action in actions[10:13]:
        original.step(action)
    state = original.state()
    resumed = envs_of("{time_limit_s: 0.6, curriculum: {rising: 0.2}}")
    resumed.restore(state)
    again = resumed.state()
    assert again.keys() == state.keys()
    assert all(np.array_equal(again[name], state[name]) for name in state)
    assert np.array_equal(resumed.tick, original.tick)
    assert np.array_equal(resumed.observations["critic"], original.observations["critic"])
    for action in actions[13:]:
        for first, second in zip(original.step(action)[:4], resumed.step(action)[:4], strict=True):
            assert np.array_equal(first, second)


def test_observations_are_the_features_of_a_dataset():
    envs = envs_of()
    robot = envs.robot
    assert isinstance(robot, ArmEmbodiment)
    known = {feature.name: feature for feature in features_of(robot.twin, robot.config.observe)}
    for feature in envs.groups.inputs:
        assert feature == known[feature.name]
    assert envs.layout[0] == "observation.state.joint1"
    assert envs.observation_space.shape == (3, len(envs.layout))


def test_time_limit_and_termination_are_kept_apart():
    envs = envs_of("{time_limit_s: 0.2, terminations: [fallen]}")
    _, infos = envs.reset()
    for step in range(5):
        _, _, terminated, truncated, infos = envs.step(still(envs))
        assert not terminated.any()
        assert truncated.all() == (step == 4)
    assert list(infos["final_info"]["reason"]) == ["time limit"] * 3
    assert infos["final_obs"][0].shape == envs.single_observation_space.shape
    assert list(infos["episode"]) == [3, 4, 5]
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


def test_a_thing_that_falls_ends_the_episode_by_termination():
    envs = envs_of("{time_limit_s: 2}")
    envs.reset()
    robot = envs.robot
    assert isinstance(robot, ArmEmbodiment)
    robot.cell._qpos[1, robot.twin.things[0].qpos + 2] = -0.5
    _, rewards, terminated, truncated, infos = envs.step(still(envs))
    assert terminated.tolist() == [False, True, False]
    assert not truncated.any()
    assert infos["final_info"]["reason"][1] == "fallen"
    assert infos["reward_terms"]["fell"].tolist() == [0, -5, 0]
    assert np.allclose(rewards, sum(infos["reward_terms"].values()))


def test_rewards_have_the_weights_of_the_config():
    one, two = envs_of("{rewards: {progress: 1}}"), envs_of("{rewards: {progress: 2.5}}")
    actions = actions_of(one, 3)
    for first, second in zip(played(one, actions)[1:], played(two, actions)[1:], strict=True):
        assert np.allclose(2.5 * first[:, -1], second[:, -1])


def test_being_over_the_hole_is_rewarded_by_the_millimetre():
    envs = envs_of("{rewards: {over_hole: 1}, terminations: [fallen]}", cell="scene: {task: peg_insertion}", num_envs=2)
    envs.reset()
    robot = envs.robot
    assert isinstance(robot, ArmEmbodiment)
    (relation,) = [relation for relation in robot.twin.task.success if relation.aside_m is not None]
    aside_m = relation.aside_m(robot.cell)  # pyright: ignore[reportOptionalCall]
    expected = np.hypot(*(robot.cell.position("peg.tip") - robot.cell.position("hole.rim"))[:, :2].T)
    assert np.allclose(aside_m, expected, atol=1e-3)
    reward = envs.step(np.zeros((2, 8)))[1]
    assert np.allclose(reward, 1 / (1 + aside_m / 0.003), rtol=0.1)
    without = envs_of("{rewards: {over_hole: 1}}")
    without.reset()
    assert not without.step(np.zeros((3, 8)))[1].any()


def test_an_absolute_action_is_a_position_between_the_limits():
    envs = envs_of("{actions: absolute, time_limit_s: 4}", cell="scene: {robot: franka_panda, task: pick_and_place}")
    envs.reset()
    robot = envs.robot
    assert isinstance(robot, ArmEmbodiment)
    home = (np.array(robot.twin.robot.home) - robot.scale.centre) / robot.scale.span
    for _ in range(25):
        envs.step(np.tile(home, (3, 1)))
    assert np.allclose(robot.cell.arm_position_rad, robot.twin.robot.home_rad, atol=0.02)


def test_a_level_curriculum_begins_at_nominal_values():
    envs = envs_of("{time_limit_s: 0.2, curriculum: {by_success: 0.5}}")
    envs.reset()
    robot, curriculum = envs.robot, envs.curriculum
    assert isinstance(robot, ArmEmbodiment)
    assert isinstance(curriculum, LevelCurriculum)
    masses = robot.cell["body_mass"][:, robot.twin.object_body]
    assert np.ptp(masses) == 0
    curriculum.ended(np.arange(3), np.ones(3, bool))
    assert curriculum.figures() == {"level": 0.5}
    envs.reset()
    assert np.ptp(masses) > 0


class TestBadInput:
    def test_a_reward_that_is_not_finite_is_named(self, monkeypatch: pytest.MonkeyPatch):
        def broken(step):
            return np.where(step.tick == 2, np.where(np.arange(3) == 1, np.nan, 0.0), 0.0)

        term = Term("broken", "reward", "1", "NaN in one environment", broken)
        monkeypatch.setattr("twinloop.environments.table.all_terms", lambda: (*all_terms(), term))
        envs = envs_of("{rewards: {broken: 1}}")
        envs.reset()
        envs.step(still(envs))
        with pytest.raises(
            TermError, match=r"reward term 'broken' is nan in environment 1 \(seed 5, episode 1, step 2"
        ):
            envs.step(still(envs))

    def test_an_action_that_is_not_finite_is_named(self):
        envs = envs_of()
        envs.reset()
        actions = still(envs)
        actions[2, 1] = np.inf
        with pytest.raises(TermError, match="action joint2 is inf in environment 2"):
            envs.step(actions)

    @pytest.mark.parametrize(
        ("environment", "message"),
        [
            ("{observations: [observation.lidar]}", "franka_panda has no sensor for 'observation.lidar'"),
            ("{observations: [contact]}", "list it under `privileged`"),
            ("{observations: [observation.velocity]}", "need observation.state"),
            ("{rewards: {progres: 1}}", "did you mean progress"),
            ("{terminations: [fell]}", "'fell' is not a termination term"),
            ("{time_limit_s: 3000}", "time_limit_s: 3000 was given"),
        ],
    )
    def test_terms_that_the_robot_does_not_have_are_refused(self, environment: str, message: str):
        with pytest.raises(UsageError, match=message):
            envs_of(environment)

    def test_an_environment_that_never_ends_is_refused(self):
        robot = envs_of().robot
        robot.longest_ticks = np.inf  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(UsageError, match="never ends"):
            VectorTwinEnv(robot, EnvironmentConfig(), seed=0)

    def test_physics_that_diverged_ends_one_episode_only(self):
        envs = envs_of()
        envs.reset()
        robot = envs.robot
        assert isinstance(robot, ArmEmbodiment)
        robot.cell._qvel[1] = 1e12
        observations, rewards, terminated, _, infos = envs.step(still(envs))
        assert terminated.tolist() == [False, True, False]
        assert infos["final_info"]["reason"][1] == "diverged"
        assert np.isfinite(observations).all()
        assert rewards[1] == 0


class TestGymnasium:
    @pytest.mark.filterwarnings("ignore:.*Box observation space (min|max)imum value")
    @pytest.mark.filterwarnings("ignore:.*not within the observation space")
    def test_a_single_environment_passes_the_checker(self):
        check_env(TwinEnv(envs_of(num_envs=1)), skip_render_check=True)

    def test_every_task_has_an_id(self):
        register_envs()
        assert id_of("pick_and_place") == "twinloop/PickAndPlace-v0"
        assert {id_of(task) for task in tasks()} <= set(gymnasium.registry)

    @pytest.mark.filterwarnings("ignore:.*")
    def test_ids_make_single_and_vector_environments(self):
        name = f"twinloop.environments.registration:{id_of('push_to_goal')}"
        envs = gymnasium.make_vec(name, num_envs=2, seed=3)
        observations, _ = envs.reset(seed=4)
        assert observations in envs.observation_space
        assert envs.step(envs.action_space.sample())[1].shape == (2,)
        env = gymnasium.make(name)
        assert env.reset(seed=4)[0].shape == env.observation_space.shape

    def test_two_episodes_of_a_single_environment_follow_each_other(self):
        env = TwinEnv(envs_of("{time_limit_s: 0.08}", num_envs=1))
        starts = []
        for _ in range(3):
            observation, info = env.reset()
            starts.append(info["episode"])
            for _ in range(2):
                observation, *_, info = env.step(np.zeros(8))
            assert observation.shape == env.observation_space.shape
            assert "success" in info
        assert starts == [0, 1, 2]


def test_the_section_is_no_part_of_the_digest():
    config = config_of("{rewards: {progress: 2}}")
    assert config.digest == replace(config, environment=None).digest == config_of(cell=NOISY).digest


def test_staggered_episodes_end_at_different_times_and_the_short_ones_are_marked():
    env = envs_of("{time_limit_s: 0.32, terminations: [fallen]}", num_envs=4)
    env.stagger()
    env.reset()
    lengths, shortened = [[] for _ in range(4)], []
    for _ in range(3 * env.longest):
        *_, infos = env.step(still(env))
        if "final_info" in infos:
            for row in np.flatnonzero(infos["_final_info"]):
                lengths[row].append(int(infos["final_info"]["length"][row]))
                shortened.append(bool(infos["final_info"]["shortened"][row]))
    assert [episodes[0] for episodes in lengths] == [1, 3, 5, 7]
    assert all(episodes[1] == env.longest == 8 for episodes in lengths)
    assert sum(shortened) == 4
