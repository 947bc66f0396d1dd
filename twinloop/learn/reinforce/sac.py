"""SacTraining: soft actor-critic by Stable-Baselines3, with demonstrations in every batch.

A fixed share of each batch comes from demonstrations, the rest from the agent's own experience (Ball et al., "Efficient
Online Reinforcement Learning with Offline Data", 2023). The actor is the network of an MlpPolicy.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.sac.policies import Actor, SACPolicy
from torch import Tensor, nn

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import PolicyModel, split_inputs
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.random_state import keep_random_state, seed_all
from twinloop.learn.reinforce.replayed import ReplayedTransitions, replay_demonstrations
from twinloop.learn.reinforce.saved_state import optimiser_state, part_of, restore_optimiser
from twinloop.run.config import RunConfig

BATCH = 256
CRITIC_LAYERS = [256, 256]
WARM_UP = 20
LEAST_STD = 1e-3
BUFFERED = ("observations", "next_observations", "actions", "rewards", "dones")


class MixedReplayBuffer(ReplayBuffer):
    """A replay buffer in which a share of every batch comes from demonstrations."""

    demonstrations: ReplayBuffer | None = None
    share = 0.0

    def sample(self, batch_size: int, env: Any = None) -> ReplayBufferSamples:
        if self.demonstrations is None:
            return super().sample(batch_size, env)
        demonstrated = round(batch_size * self.share)
        parts = (super().sample(batch_size - demonstrated, env), self.demonstrations.sample(demonstrated, env))
        joined = [
            None if first is None or second is None else torch.cat([first, second])
            for first, second in zip(*parts, strict=True)
        ]
        return ReplayBufferSamples(*joined)  # pyright: ignore[reportArgumentType]


class NormalisedInputs(BaseFeaturesExtractor):
    """Observations with fixed means and standard deviations."""

    def __init__(self, observation_space: Box, mean: np.ndarray, std: np.ndarray):
        super().__init__(observation_space, len(mean))
        self.register_buffer("mean", torch.from_numpy(mean))
        self.register_buffer("std", torch.from_numpy(std))

    def forward(self, observations: Tensor) -> Tensor:
        return (observations - self.get_buffer("mean")) / self.get_buffer("std")


class NetworkTrunk(nn.Module):
    """The layers of an MlpPolicy before the last one, for flat observations."""

    def __init__(self, network: MlpPolicy):
        super().__init__()
        self.network = network

    def forward(self, observations: Tensor) -> Tensor:
        real = torch.zeros(len(observations), device=observations.device)
        return self.network.trunk(split_inputs(observations, self.network.features), real)


def _policy_class(network: MlpPolicy) -> type[SACPolicy]:
    class NetworkActor(Actor):
        def __init__(self, **settings: Any):
            super().__init__(**settings)
            self.latent_pi = NetworkTrunk(network)  # pyright: ignore[reportAttributeAccessIssue]
            self.mu = network.leave
            self.log_std = nn.Linear(network.leave.in_features, network.leave.out_features)

    class NetworkSacPolicy(SACPolicy):
        def make_actor(self, features_extractor: BaseFeaturesExtractor | None = None) -> Actor:
            del features_extractor  # the network normalises observations itself
            extractor = FlattenExtractor(self.observation_space)
            settings = self._update_features_extractor(self.actor_kwargs, extractor)
            return NetworkActor(**settings).to(self.device)

    return NetworkSacPolicy


class SacTraining:
    """One training by SAC, iteration by iteration.

    Attributes:
        data: sources of the demonstrations, for the card.
        replayed: the demonstrations; None without.
    """

    name = "sac"

    def __init__(
        self, env: VectorTwinEnv, policy: MlpPolicy, config: ReinforceConfig, *, run: RunConfig,
        demonstrations: Path | None = None, threads: int | None = None, device: str = "cpu",
    ):  # fmt: skip
        self.config, self.policy = config, policy
        seed_all(config.seed)
        self.replayed = None if demonstrations is None else replay_demonstrations(demonstrations, run, threads=threads)
        self.data = () if self.replayed is None else (self.replayed.source,)
        model = PolicyModel(policy, env.groups.inputs, noise=0.1, least=0.1, most=0.1, normalise=False)
        self.env = PolicyEnv(env, model, device=device)
        mean, std = self._scales(env)
        _set_scales(policy, mean, std)
        self._sac = self._algorithm(env, mean, std, device)
        env.reset(seed=config.seed)
        self.env.begin_counting()

    def _scales(self, env: VectorTwinEnv) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of observations: of demonstrations, or of a few random steps."""
        if self.replayed is not None:
            seen = self.replayed.observation
        else:
            rng = np.random.default_rng(self.config.seed)
            env.reset()
            seen = np.concatenate([env.step(rng.uniform(-1, 1, env.commands.shape))[0] for _ in range(WARM_UP)])
        std = seen.std(axis=0)
        return seen.mean(axis=0).astype(np.float32), np.where(std < LEAST_STD, 1.0, std).astype(np.float32)

    def _algorithm(self, env: VectorTwinEnv, mean: np.ndarray, std: np.ndarray, device: str) -> SAC:
        config = self.config
        sac = SAC(
            _policy_class(self.policy), None, learning_rate=config.learning_rate, buffer_size=config.replay,  # pyright: ignore
            batch_size=BATCH, gamma=config.gamma, target_entropy=-float(env.commands.shape[1]),
            device=device, seed=config.seed, _init_setup_model=False,
            replay_buffer_class=MixedReplayBuffer, replay_buffer_kwargs={"handle_timeout_termination": False},
            policy_kwargs={
                "net_arch": {"pi": [self.policy.leave.in_features], "qf": CRITIC_LAYERS},
                "features_extractor_class": NormalisedInputs, "features_extractor_kwargs": {"mean": mean, "std": std},
            },
        )  # fmt: skip
        sac.observation_space, sac.action_space = env.single_observation_space, env.single_action_space
        sac.n_envs = env.num_envs
        sac._setup_model()
        sac.set_logger(Logger(folder=None, output_formats=[]))
        buffer = sac.replay_buffer
        if self.replayed is not None and isinstance(buffer, MixedReplayBuffer):
            buffer.demonstrations = _buffer_of(self.replayed, sac)
            buffer.share = config.demonstrations
        return sac

    @property
    def _buffer(self) -> ReplayBuffer:
        assert self._sac.replay_buffer is not None
        return self._sac.replay_buffer

    def iterate(self) -> dict[str, float]:
        """Simulate `steps` steps of every environment, then make `epochs` updates."""
        sac, envs = self._sac, self.env.env
        for _ in range(self.config.steps):
            before = envs.observations["policy"].copy()
            with torch.no_grad():
                actions = sac.actor(torch.from_numpy(before).to(sac.device)).cpu().numpy()
            after, rewards, terminated, _, infos = envs.step(actions)
            following = after.copy()
            for slot in np.flatnonzero(infos.get("_final_obs", np.zeros(0, bool))):
                following[slot] = infos["final_obs"][slot]
            # A time limit is no terminal state: its value is bootstrapped.
            self._buffer.add(before, following, actions, rewards, terminated, [{}] * envs.num_envs)
            self.env.note(infos, envs.num_envs)
            sac.num_timesteps += envs.num_envs
        sac.train(gradient_steps=self.config.epochs, batch_size=BATCH)
        values = sac.logger.name_to_value
        names = {"train/actor_loss": "loss/actor", "train/critic_loss": "loss/critic", "train/ent_coef": "temperature"}
        return {label: float(values[name]) for name, label in names.items() if name in values}

    def _parts(self) -> dict[str, nn.Module]:
        sac = self._sac
        return {"actor": sac.actor, "critic": sac.critic, "target": sac.critic_target}

    def _optimisers(self) -> dict[str, torch.optim.Optimizer]:
        sac = self._sac
        optimizers = {
            "actor": sac.actor.optimizer,
            "critic": sac.critic.optimizer,
            "temperature": sac.ent_coef_optimizer,
        }
        return {f"optimiser_{name}": optimizer for name, optimizer in optimizers.items() if optimizer is not None}

    def state(self) -> dict[str, Tensor]:
        sac, buffer = self._sac, self._buffer
        state = {
            f"{part}.{name}": value.clone()
            for part, model in self._parts().items() for name, value in model.state_dict().items()
        }  # fmt: skip
        for name, optimiser in self._optimisers().items():
            state |= optimiser_state(optimiser, name)
        if sac.log_ent_coef is not None:
            state["temperature"] = sac.log_ent_coef.detach().clone()
        rows = buffer.buffer_size if buffer.full else buffer.pos
        for name in BUFFERED:
            state[f"buffer.{name}"] = torch.from_numpy(getattr(buffer, name)[:rows].copy())
        counts = [buffer.pos, int(buffer.full), sac.num_timesteps, sac._n_updates]
        state["counts"] = torch.tensor(counts, dtype=torch.int64)
        env = {f"env.{name}": torch.from_numpy(values) for name, values in self.env.env.state().items()}
        return state | env | keep_random_state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        sac, buffer = self._sac, self._buffer
        for part, model in self._parts().items():
            model.load_state_dict(part_of(state, part))
        for name, optimiser in self._optimisers().items():
            restore_optimiser(optimiser, state, name)
        if sac.log_ent_coef is not None:
            sac.log_ent_coef.data.copy_(state["temperature"])
        for name, values in part_of(state, "buffer").items():
            getattr(buffer, name)[: len(values)] = values.numpy()
        buffer.pos, full, sac.num_timesteps, sac._n_updates = state["counts"].tolist()
        buffer.full = bool(full)
        self.env.env.restore({name: value.numpy() for name, value in part_of(state, "env").items()})
        seed_all(state)


def _buffer_of(replayed: ReplayedTransitions, sac: SAC) -> ReplayBuffer:
    count = len(replayed.reward)
    buffer = ReplayBuffer(
        count, sac.observation_space, sac.action_space, device=sac.device, n_envs=1, handle_timeout_termination=False
    )
    for row in range(count):
        buffer.add(
            replayed.observation[row : row + 1], replayed.following[row : row + 1], replayed.action[row : row + 1],
            replayed.reward[row : row + 1], replayed.terminated[row : row + 1], [{}],
        )  # fmt: skip
    return buffer


def _set_scales(policy: MlpPolicy, mean: np.ndarray, std: np.ndarray) -> None:
    first = 0
    for index, feature in enumerate(policy.features):
        part = slice(first, first + feature.shape[0])
        policy.vectors.get_buffer(f"mean{index}").copy_(torch.from_numpy(mean[part]))
        policy.vectors.get_buffer(f"std{index}").copy_(torch.from_numpy(std[part]))
        first = part.stop
