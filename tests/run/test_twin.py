"""A process compiles the twin of a config once. Configs that give other episodes have other twins."""

from pathlib import Path

from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import MAX_COMPILED, twin_of


def config(text: str) -> RunConfig:
    return config_from_text(text, name="test.yaml", folder=Path())


def test_equal_configs_share_one_twin():
    assert twin_of(config("rollout: {seed: 1}")) is twin_of(config("rollout: {seed: 2, parallel_envs: 8}"))


def test_a_config_that_decides_other_episodes_has_another_twin():
    one, other = twin_of(config("{}")), twin_of(config("rollout: {timestep_ms: 2}"))
    assert one is not other
    assert other.model.opt.timestep == 0.002


def test_the_number_of_kept_twins_is_bounded():
    first = twin_of(config("curate: {longest_s: 30}"))
    for longest in range(31, 31 + MAX_COMPILED):
        twin_of(config(f"curate: {{longest_s: {longest}}}"))
    assert twin_of(config("curate: {longest_s: 30}")) is not first
