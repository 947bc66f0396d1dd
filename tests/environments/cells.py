"""Small environments for tests."""

from pathlib import Path

from twinloop.environments.make import vector_env
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.run.config import RunConfig, config_from_text

NOISY = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_mass_kg: [0.05, 0.4], object_position_noise_cm: [-2, 2]}
  latency: {action_delay_ms: [5, 40], observation_delay_ms: [0, 60]}
  sensing: {encoder_noise_mrad: [0, 1], tracker_noise_mm: [0, 3]}
observe: {velocity: differentiated}
"""


def config_of(environment: str = "{time_limit_s: 0.4}", cell: str = NOISY) -> RunConfig:
    return config_from_text(f"{cell}\nenvironment: {environment}\n", name="cell.yaml", folder=Path())


def envs_of(
    environment: str = "{time_limit_s: 0.4}", *, num_envs: int = 3, seed: int = 5, cell: str = NOISY, threads: int = 1
) -> VectorTwinEnv:
    return vector_env(config_of(environment, cell), num_envs=num_envs, seed=seed, threads=threads)
