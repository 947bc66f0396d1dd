"""A cell has the same traits whichever other cells are simulated with it, and in whichever model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.diagnose.causes import hypothesis_of
from twinloop.diagnose.counterfactuals import CounterfactualJob, limited, simulate_counterfactuals
from twinloop.diagnose.hypothesis import NOTHING, Hypothesis
from twinloop.diagnose.hypothesis_set import Chunk, causes_in, chunks_of, hypotheses_of
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.space import Space
from twinloop.observe.features import features_of
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of

EPISODES = 2
CONFIG = embedded_config()
CAUSES = {cause.name: cause for cause in causes_in(CONFIG)}
SIZES = {
    "friction_coefficient (low)": 1.0,
    "observation_delay_ms (high)": 1.0,
    "tracker_noise_mm (high)": 2.0,
    "clutter_count (high)": 1.0,
    "bystander_probability (share)": 1.5,
    "action_jitter_ms (high)": 2.0,
    "backlash_mrad (high)": 2.0,
}
"""Causes of each way to act: model field, reading, noise, standing bodies, moving body, delay line, command."""


class Pressing:
    """A policy that presses on the table near the object that it sees. So friction, clutter and errors all matter."""

    horizon, executed = 8, 8

    def __init__(self) -> None:
        twin = twin_of(CONFIG)
        named = {feature.name: feature for feature in features_of(twin, CONFIG.observe)}
        read = (named["observation.state"], named["observation.environment_state"])
        self.space = Space(twin.robot.name, float(twin.control_hz), read, named["action"])

    def chunks(self, observation, *, instructions, real, noise) -> np.ndarray:  # noqa: ARG002
        here = observation["observation.state"][:, : noise.shape[2]].astype(float)
        seen = observation["observation.environment_state"]
        target = np.tile([0.0, 0.75, 0.0, -1.9, 0.0, 2.6, 0.8, 0.02], (len(here), 1))
        target[:, 0] = np.arctan2(seen[:, 1], np.maximum(seen[:, 0], 0.1))
        steps = np.arange(1, self.horizon + 1)[None, :, None] / (2 * self.horizon)
        return (here[:, None] + steps * (target - here)[:, None]).astype(np.float32)


JOB = CounterfactualJob(CONFIG.to_yaml(), str(Path.cwd()), Pressing, ActingConfig(), EPISODES, 3, paired=True)


@pytest.fixture(scope="module")
def cells() -> list[Hypothesis]:
    return [NOTHING, *(hypothesis_of([(CAUSES[name], size)]) for name, size in SIZES.items())]


def simulated(cells: list[Hypothesis], numbers: list[int]) -> dict[int, np.ndarray]:
    chunk = Chunk(tuple(numbers), tuple(cells[number] for number in numbers))
    ((_, result),) = simulate_counterfactuals(replace(JOB, longest_s=4.0), [chunk])
    return {number: cell.traits for number, cell in zip(numbers, result, strict=True)}


@pytest.fixture(scope="module")
def together(cells: list[Hypothesis]) -> dict[int, np.ndarray]:
    return simulated(cells, list(range(len(cells))))


@pytest.mark.parametrize("number", range(1 + len(SIZES)), ids=["nothing", *SIZES])
def test_a_cell_has_the_same_traits_alone_and_beside_others(cells, together, number: int):
    np.testing.assert_array_equal(together[number], simulated(cells, [number])[number])


def test_every_cause_of_the_test_has_an_effect(together):
    for number, name in enumerate(SIZES, start=1):
        same = np.array_equal(together[number], together[0], equal_nan=True)
        assert same == (name == "clutter_count (high)"), name  # the arm passes beside the clutter


def test_chunks_hold_every_hypothesis_once_and_share_few_models():
    hypotheses = hypotheses_of(CONFIG, levels=3, seed=1)
    chunks = chunks_of(hypotheses, episodes=16)
    numbers = [number for chunk in chunks for number in chunk.numbers]
    assert sorted(numbers) == list(range(len(hypotheses)))
    for chunk in chunks:
        assert [hypotheses[number] for number in chunk.numbers] == list(chunk.hypotheses)
    assert max(16 * len(chunk.numbers) for chunk in chunks) <= 192
    assert len(chunks_of(hypotheses, episodes=1)) < 20


def test_a_policy_that_never_succeeds_gets_a_time_limit_below_that_of_the_task():
    limit_s = limited(replace(JOB, episodes=1)).longest_s
    assert limit_s is not None
    assert limit_s < CONFIG.scene.task.longest_s
