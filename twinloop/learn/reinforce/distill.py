"""DistillTraining: a student imitates a teacher that may see more, in the states that the student visits (rsl-rl).

The teacher may be trained with privileged observations, i.e. with true values in place of sensor readings. The student
gets the observations of the config's `environment.observations`, which a robot can measure.
"""

from collections.abc import Mapping

import torch
from rsl_rl.algorithms import Distillation
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import CheckpointError
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import PolicyModel
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.random_state import keep_random_state, seed_all
from twinloop.learn.reinforce.saved_state import optimiser_state, part_of, restore_optimiser

TEACHER = "teacher"


class TeacherEnv(PolicyEnv):
    """Environments with a further group of observations, `teacher`: the columns of the critic that it reads."""

    def __init__(self, env: VectorTwinEnv, model: PolicyModel, columns: list[int], *, device: str):
        self._columns = columns
        super().__init__(env, model, device=device)

    def get_observations(self) -> TensorDict:
        groups = super().get_observations()
        groups[TEACHER] = groups["critic"][:, self._columns]
        return groups


class DistillTraining:
    """One distillation, iteration by iteration."""

    def __init__(
        self, env: VectorTwinEnv, policy: MlpPolicy, teacher: MlpPolicy, config: ReinforceConfig, *, device: str = "cpu"
    ):
        self.config, self.policy = config, policy
        seed_all(config.seed)
        self.model = PolicyModel(policy, env.groups.inputs, noise=0.05, least=0.05, most=0.05, normalise=True)
        if teacher.executed != 1:
            raise CheckpointError(
                f"the teacher executes {teacher.executed} actions of a chunk; distillation needs a policy that "
                "`twinloop reinforce` trained, which decides in every control period"
            )
        columns = _columns(env, teacher)
        self.env: PolicyEnv = TeacherEnv(env, self.model, columns, device=device)
        guide = PolicyModel(
            teacher, teacher.features, noise=0.05, least=0.05, most=0.05, normalise=False, group=TEACHER
        )
        env.reset()
        obs = self.env.get_observations()
        storage = RolloutStorage("distillation", env.num_envs, config.steps, obs, [self.env.num_actions], device)
        self.algorithm = Distillation(
            self.model, guide, storage,  # pyright: ignore[reportArgumentType]
            num_learning_epochs=config.epochs, gradient_length=config.steps, learning_rate=config.learning_rate,
            max_grad_norm=1.0, device=device,
        )  # fmt: skip
        self._obs = obs

    def iterate(self) -> dict[str, float]:
        algorithm = self.algorithm
        algorithm.train_mode()
        with torch.no_grad():
            for _ in range(self.config.steps):
                actions = algorithm.act(self._obs)
                self._obs, rewards, dones, extras = self.env.step(actions)
                algorithm.process_env_step(self._obs, rewards, dones, extras)
        return {f"loss/{name}": float(value) for name, value in algorithm.update().items()}

    def state(self) -> dict[str, Tensor]:
        state = {f"actor.{name}": value for name, value in self.model.state_dict().items()}
        env = {f"env.{name}": torch.from_numpy(values) for name, values in self.env.env.state().items()}
        return state | optimiser_state(self.algorithm.optimizer) | env | keep_random_state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict(part_of(state, "actor"))
        restore_optimiser(self.algorithm.optimizer, state)
        self.env.env.restore({name: value.numpy() for name, value in part_of(state, "env").items()})
        self._obs = self.env.get_observations()
        seed_all(state)


def _columns(env: VectorTwinEnv, teacher: MlpPolicy) -> list[int]:
    """Columns of the critic's observation that the teacher reads."""
    names = [f"{feature.name}.{element}" for feature in teacher.features for element in feature.names]
    missing = [name for name in names if name not in env.groups.critic_names]
    if missing:
        raise CheckpointError(
            f"the teacher reads {missing[0]}, which the environment does not give; add its feature to "
            "environment.privileged"
        )
    return [env.groups.critic_names.index(name) for name in names]
