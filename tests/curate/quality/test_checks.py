"""Each fault is found under its own name; clean recordings are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from tests.curate.quality.recordings import clean_takes
from twinloop.curate.quality import CHECKS, DatasetStatistics, EpisodeStatistics, QualityConfig, judge
from twinloop.curate.quality.faults import FAULTS
from twinloop.curate.quality.recorded_episode import RecordedEpisode

CONFIG = QualityConfig()
RATES = (30.0, 100.0)
EPISODES = 12


@pytest.fixture(scope="module", params=RATES, ids=lambda rate: f"{rate:g} Hz")
def takes(request: pytest.FixtureRequest) -> list[RecordedEpisode]:
    return clean_takes(EPISODES, seed=3, rate_hz=request.param)


@pytest.fixture(scope="module")
def summaries(takes: list[RecordedEpisode]) -> list[EpisodeStatistics]:
    return [EpisodeStatistics.of(take) for take in takes]


def verdicts(takes: list[RecordedEpisode]) -> list[str]:
    crowd = DatasetStatistics.of(map(EpisodeStatistics.of, takes))
    return [judge(take, crowd, CONFIG).verdict for take in takes]


def verdict_among(summaries: list[EpisodeStatistics], faulty: RecordedEpisode) -> str:
    others = [each for each in summaries if each.attempt != faulty.attempt]
    return judge(faulty, DatasetStatistics.of([*others, EpisodeStatistics.of(faulty)]), CONFIG).verdict


@pytest.mark.parametrize("unit", ["rad", "deg"])
@pytest.mark.parametrize("rate_hz", [25.0, 50.0, 200.0])
def test_clean_recordings_are_left_alone(rate_hz: float, unit: str):
    takes = clean_takes(20, seed=11, rate_hz=rate_hz, unit=unit)
    assert verdicts(takes) == [""] * len(takes)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_under_its_name(takes: list[RecordedEpisode], summaries: list[EpisodeStatistics], name: str):
    check, fault = FAULTS[name]
    broken = [fault(take, np.random.default_rng([7, take.attempt])) for take in takes]
    found = [verdict_among(summaries, each) for each in broken if each is not None]
    assert len(found) >= EPISODES / 2
    assert found.count(check) >= 0.95 * len(found), found


def test_a_copy_of_an_episode_is_told_from_the_first(takes: list[RecordedEpisode]):
    again = replace(takes[0], attempt=len(takes))
    crowd = DatasetStatistics.of(map(EpisodeStatistics.of, [*takes, again]))
    assert judge(takes[0], crowd, CONFIG).verdict == ""
    found = judge(again, crowd, CONFIG)
    assert found.verdict == "duplicate"
    assert "attempt 0" in found.findings[0].said


def test_a_finding_says_where_and_how_much(takes: list[RecordedEpisode]):
    state = takes[2].signals["observation.state"].copy()
    state[40, 1] += 5
    broken = replace(takes[2], signals={**takes[2].signals, "observation.state": state})
    (found,) = judge(broken, DatasetStatistics.of(map(EpisodeStatistics.of, takes)), CONFIG).errors
    assert (found.check, found.channel, found.first, found.last) == (
        "value_spike",
        "observation.state/shoulder",
        40,
        40,
    )
    assert found.measured == pytest.approx(5, abs=0.2)
    assert found.limit < found.measured


def test_a_gripper_that_holds_something_is_not_frozen():
    (take,) = clean_takes(1, seed=0)
    held = take.signals["observation.state"][:, 4]
    assert (np.diff(held) == 0).sum() > 50, "the take should have a still gripper in it"
    assert verdicts([take]) == [""]


def test_names_of_checks_are_verdicts_of_their_own():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert not {"accepted", "task_failed", "aborted"} & set(names)


def test_every_fault_names_a_check():
    assert {check for check, _ in FAULTS.values()} <= {check.name for check in CHECKS}
