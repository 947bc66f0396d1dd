"""TwinEnv: one environment with Gymnasium's interface for a single one, e.g. for `gymnasium.make`."""

from typing import Any

import gymnasium
import numpy as np

from twinloop.environments.vector_env import VectorTwinEnv


class TwinEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One environment. It is not reset automatically: after an episode the caller calls `reset`."""

    def __init__(self, envs: VectorTwinEnv):
        self._envs = envs
        self.metadata = {"render_modes": [], "render_fps": envs.robot.rate_hz}
        self.observation_space, self.action_space = envs.single_observation_space, envs.single_action_space
        self._fresh: tuple[np.ndarray, dict[str, Any]] | None = None

    @property
    def layout(self) -> tuple[str, ...]:
        """Name of every element of an observation."""
        return self._envs.layout

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and self._fresh is not None:
            # The last step has already begun the next episode.
            (observation, infos), self._fresh = self._fresh, None
            return observation, infos
        observations, infos = self._envs.reset(seed=seed, options=options)
        self._fresh = None
        return observations[0], _first(infos)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self._envs.step(np.asarray(action)[None])
        observation, own = observations[0], _first(infos)
        if terminated[0] or truncated[0]:
            self._fresh = observation, {"critic": own.pop("critic"), "episode": own.pop("episode")}
            observation = own.pop("final_obs")
            own |= own.pop("final_info")
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), own


def _first(infos: dict[str, Any]) -> dict[str, Any]:
    """The entries of the first environment, without the masks."""
    own = {}
    for name, values in infos.items():
        if not name.startswith("_"):
            own[name] = _first(values) if isinstance(values, dict) else values[0]
    return own
