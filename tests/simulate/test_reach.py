"""Draws that the robot cannot reach are a verdict: they are not simulated, have no rows, and are counted."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.api.generating import generate
from twinloop.curate.judge import judge
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.reach import unreachable_poses
from twinloop.simulate.rollout import rollout

FAR = "scene: {robot: so101}\nrandomization: {physics: {target_position_noise_cm: {choice: [0, 24.5]}}}\n"


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return config_from_text(FAR, name="cell.yaml", folder=Path())


def test_hardly_any_draw_that_the_expert_can_do_is_rejected(config: RunConfig):
    twin, draws = twin_of(config), config.sampler().draw(0, 32)
    cell, expert = Cell(twin, width=32), Expert(twin, config.expert, width=32, seed=0)
    (episodes,) = rollout(cell, iter([draws]), expert, seed=0)
    rejected = unreachable_poses(twin, draws) > 0
    assert 2 < rejected.sum() < 29
    # A thing that is let go of at the edge of the reach may slide on into its zone.
    assert (rejected & episodes.success).sum() <= 1
    assert episodes.success[~rejected].any()


def test_unreachable_draws_have_a_verdict_and_no_frames(config: RunConfig):
    twin, draws = twin_of(config), config.sampler().draw(0, 12)
    expected = unreachable_poses(twin, draws)
    assert 0 < (expected > 0).sum() < 12
    cell, expert = Cell(twin, width=3), Expert(twin, config.expert, width=3, seed=0)
    (episodes,) = rollout(cell, iter([draws]), expert, seed=0, check_reach=True)
    np.testing.assert_array_equal(episodes.unreachable, expected)
    np.testing.assert_array_equal(episodes.lengths == 0, expected > 0)
    verdicts = judge(episodes, twin, config.curate)
    np.testing.assert_array_equal([reason == "unreachable" for reason in verdicts.reasons], expected > 0)
    np.testing.assert_array_equal([name == "unreachable" for name in verdicts.failures], expected > 0)
    assert not verdicts.storable[expected > 0].any()


def test_the_verdict_does_not_depend_on_the_block(config: RunConfig):
    twin, sampler = twin_of(config), config.sampler()
    whole = unreachable_poses(twin, sampler.draw(0, 24))
    parts = [unreachable_poses(twin, sampler.draw(first, first + 6)) for first in range(0, 24, 6)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_a_run_counts_them_and_may_consist_of_them(tmp_path: Path):
    file = tmp_path / "cell.yaml"
    file.write_text(
        "scene: {robot: so101}\nrollout: {parallel_envs: 6, episodes_per_env: 1}\ndataset: {shard_episodes: 3}\n"
        "randomization: {physics: {target_position_noise_cm: [24, 25]}}\n"
    )
    dataset = generate(file, tmp_path / "dataset", workers=1)
    assert dataset.attempts()["verdict"].to_pylist() == ["unreachable"] * 6
    assert dataset.frame_count == 0


def test_draws_of_two_arms_are_tested_with_both():
    text = "scene: {robot: dual_panda, task: hand_to_hand}\n"
    pair = config_from_text(text, name="cell.yaml", folder=Path())
    assert not unreachable_poses(twin_of(pair), pair.sampler(seed=1).draw(0, 4)).any()
