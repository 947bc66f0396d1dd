"""Shared by the digest laws: a small run, and its digest with one local process."""

from dataclasses import replace

import pytest

from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig
from twinloop.run.default import embedded_config

EPISODES = 14


@pytest.fixture(scope="session")
def config() -> RunConfig:
    config = embedded_config()
    return replace(config, dataset=replace(config.dataset, shard_episodes=2))


@pytest.fixture(scope="session")
def digest(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> str:
    return generate(config, tmp_path_factory.mktemp("one") / "data", episodes=EPISODES, workers=1).digest
