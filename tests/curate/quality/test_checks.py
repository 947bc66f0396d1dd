"""Each fault is found under its own name; clean episodes are left alone."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.curate.quality.faults import FAULTS
from tests.curate.quality.good_robots import (
    KINDS,
    WORKING_SEEDS,
    GoodEpisode,
    Kind,
    draw_robot,
    freeze,
    record,
    recorded,
)
from tests.curate.quality.recordings import clean_recordings
from twinloop.curate.quality import CHECKS, DatasetStatistics, EpisodeStatistics, QualityConfig, judge
from twinloop.curate.quality.recorded_episode import RecordedEpisode

CONFIG = QualityConfig()
RATES = (30.0, 100.0)
EPISODES = 12


@pytest.fixture(scope="module", params=RATES, ids=lambda rate: f"{rate:g} Hz")
def episodes(request: pytest.FixtureRequest) -> list[RecordedEpisode]:
    return clean_recordings(EPISODES, seed=3, rate_hz=request.param)


@pytest.fixture(scope="module")
def summaries(episodes: list[RecordedEpisode]) -> list[EpisodeStatistics]:
    return [EpisodeStatistics.of(episode) for episode in episodes]


def verdicts(episodes: list[RecordedEpisode]) -> list[str]:
    statistics = DatasetStatistics.of(map(EpisodeStatistics.of, episodes))
    return [judge(episode, statistics, CONFIG).verdict for episode in episodes]


def verdict_among(summaries: list[EpisodeStatistics], faulty: RecordedEpisode) -> str:
    others = [summary for summary in summaries if summary.attempt != faulty.attempt]
    return judge(faulty, DatasetStatistics.of([*others, EpisodeStatistics.of(faulty)]), CONFIG).verdict


@pytest.mark.parametrize("unit", ["rad", "deg"])
@pytest.mark.parametrize("rate_hz", [25.0, 50.0, 200.0])
def test_clean_recordings_are_left_alone(rate_hz: float, unit: str):
    episodes = clean_recordings(20, seed=11, rate_hz=rate_hz, unit=unit)
    assert verdicts(episodes) == [""] * len(episodes)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_under_its_name(
    episodes: list[RecordedEpisode], summaries: list[EpisodeStatistics], name: str
):
    check, fault = FAULTS[name]
    broken = [fault(episode, np.random.default_rng([7, episode.attempt])) for episode in episodes]
    judged = [verdict_among(summaries, summary) for summary in broken if summary is not None]
    assert len(judged) >= EPISODES / 2
    assert judged.count(check) >= 0.95 * len(judged), judged


def test_a_copy_of_an_episode_is_distinguished_from_the_original(episodes: list[RecordedEpisode]):
    again = replace(episodes[0], attempt=len(episodes))
    statistics = DatasetStatistics.of(map(EpisodeStatistics.of, [*episodes, again]))
    assert judge(episodes[0], statistics, CONFIG).verdict == ""
    judged = judge(again, statistics, CONFIG)
    assert judged.verdict == "duplicate"
    assert "attempt 0" in judged.findings[0].message


def test_a_finding_has_channel_rows_and_size(episodes: list[RecordedEpisode]):
    state = episodes[2].signals["observation.state"].copy()
    state[40, 1] += 5
    broken = replace(episodes[2], signals={**episodes[2].signals, "observation.state": state})
    (judged,) = judge(broken, DatasetStatistics.of(map(EpisodeStatistics.of, episodes)), CONFIG).errors
    assert (judged.check, judged.channel, judged.first, judged.last) == (
        "value_spike",
        "observation.state/shoulder",
        40,
        40,
    )
    assert judged.measured == pytest.approx(5, abs=0.2)
    assert judged.limit < judged.measured


def test_a_gripper_that_holds_something_is_not_frozen():
    (episode,) = clean_recordings(1, seed=0)
    held = episode.signals["observation.state"][:, 4]
    assert (np.diff(held) == 0).sum() > 50, "the episode should have a still gripper in it"
    assert verdicts([episode]) == [""]


def test_names_of_checks_are_verdicts_of_their_own():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert not {"accepted", "task_failed", "aborted"} & set(names)


def test_every_fault_names_a_check():
    assert {check for check, _ in FAULTS.values()} <= {check.name for check in CHECKS}


def statistics_of(episodes: list[RecordedEpisode]) -> DatasetStatistics:
    return DatasetStatistics.of(map(EpisodeStatistics.of, episodes))


@cache
def good_recordings(kind: Kind, seed: int) -> tuple[tuple[GoodEpisode, ...], tuple[EpisodeStatistics, ...]]:
    """Five good episodes of a robot of this kind, and their statistics."""
    episodes = tuple(record(draw_robot(kind, seed), 5))
    return episodes, tuple(EpisodeStatistics.of(recorded(episode)) for episode in episodes)


@pytest.mark.parametrize("kind", KINDS)
def test_good_recordings_with_resting_joints_are_accepted(kind: Kind):
    """Joints rest under constant or slow commands, within dead bands, at end stops and around objects."""
    rejected = []
    for seed in WORKING_SEEDS[:2]:
        good, summaries = good_recordings(kind, seed)
        statistics = DatasetStatistics.of(summaries)
        rejected += [judge(recorded(episode), statistics, CONFIG).errors for episode in good]
    assert [errors for errors in rejected if errors] == []


@pytest.mark.parametrize("whole_state", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_freeze_is_found_among_resting_joints(kind: Kind, whole_state: bool):
    judged = []
    for seed in WORKING_SEEDS[:2]:
        good, statistics = good_recordings(kind, seed)
        for episode in good:
            frozen = freeze(episode, np.random.default_rng([seed, episode.number]), whole_state=whole_state)
            if frozen is None:
                continue
            others = [known for known in statistics if known.attempt != episode.number]
            broken = recorded(frozen)
            quality = judge(broken, DatasetStatistics.of([*others, EpisodeStatistics.of(broken)]), CONFIG)
            judged.append("frozen_sensor" in {finding.check for finding in quality.errors})
    assert len(judged) >= 5
    assert np.mean(judged) >= 0.7


def test_a_finger_that_never_moves_is_not_frozen(episodes: list[RecordedEpisode]):
    """Neither one whose command drives nothing, nor one that flickers by one encoder step in other episodes."""
    still = []
    for episode in episodes:
        signals = {name: values.copy() for name, values in episode.signals.items()}
        signals["observation.state"][:, 3] = 0.5
        if episode.attempt:
            signals["observation.state"][episode.rows // 2, 3] += 0.0015
        still.append(replace(episode, signals=signals))
    statistics = statistics_of(still)
    assert [judge(episode, statistics, CONFIG).verdict for episode in still] == [""] * len(still)


def test_a_wrapped_angle_does_not_hide_an_action_copy(
    episodes: list[RecordedEpisode], summaries: list[EpisodeStatistics]
):
    wrapped = FAULTS["wrapped angle"][1](episodes[1], np.random.default_rng(3))
    assert wrapped is not None
    state = wrapped.signals["observation.state"]
    broken = replace(wrapped, signals={**wrapped.signals, "action": state.copy()})
    others = [summary for summary in summaries if summary.attempt != broken.attempt]
    quality = judge(broken, DatasetStatistics.of([*others, EpisodeStatistics.of(broken)]), CONFIG)
    assert {"angle_wrap", "action_copy"} <= {finding.check for finding in quality.errors}


def test_a_step_by_six_in_a_channel_without_a_unit_is_no_wrapped_angle(episodes: list[RecordedEpisode]):
    """Percent of a gripper: it moves by 2 pi in a row now and then, and stays within no turn."""
    ramp = np.clip(np.arange(episodes[0].rows) * 6.3 - 200, 0, 100)
    signals = {name: values.copy() for name, values in episodes[0].signals.items()}
    signals["action"][:, 4] = ramp
    units = dict.fromkeys(signals, ("",) * 5)
    episode = replace(episodes[0], signals=signals, units=units)
    quality = judge(episode, statistics_of([episode]), CONFIG)
    assert "angle_wrap" not in {finding.check for finding in quality.findings}


def with_velocity(episode: RecordedEpisode, factor: float) -> RecordedEpisode:
    """The episode with velocities: the derivative of the position, times a factor."""
    velocity = factor * np.gradient(episode.signals["observation.state"], episode.seconds, axis=0)
    units = tuple(f"{unit}/s" for unit in episode.units["observation.state"])
    return replace(
        episode,
        signals={**episode.signals, "observation.velocity": velocity},
        names={**episode.names, "observation.velocity": episode.names["observation.state"]},
        units={**episode.units, "observation.velocity": units},
    )


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, ""), (-1.0, "velocity_mismatch"), (57.3, "velocity_mismatch")])
def test_a_velocity_is_compared_with_the_position(episodes: list[RecordedEpisode], factor: float, verdict: str):
    assert set(verdicts([with_velocity(episode, factor) for episode in episodes])) == {verdict}


def test_commands_that_were_recorded_too_late_are_noted(episodes: list[RecordedEpisode]):
    late = []
    for episode in episodes:
        rows = round(0.2 * episode.rate_hz)
        action = np.concatenate(
            [np.repeat(episode.signals["action"][:1], rows, axis=0), episode.signals["action"][:-rows]]
        )
        late.append(replace(episode, signals={**episode.signals, "action": action}))

    def early(episodes: list[RecordedEpisode]) -> list[bool]:
        statistics = statistics_of(episodes)
        qualities = [judge(episode, statistics, CONFIG) for episode in episodes]
        return ["early_motion" in {finding.check for finding in quality.findings} for quality in qualities]

    assert np.mean(early(late)) > 0.9
    assert not any(early(episodes))


def test_repeated_stamps_are_a_note(episodes: list[RecordedEpisode]):
    tick_s = 2 / episodes[0].rate_hz
    coarse = [replace(episode, time_s=np.floor(np.arange(episode.rows) / episode.rate_hz / tick_s + 1e-9) * tick_s)
              for episode in episodes]  # fmt: skip
    statistics = statistics_of(coarse)
    for episode in coarse:
        quality = judge(episode, statistics, CONFIG)
        assert quality.verdict == ""
        assert [finding.check for finding in quality.findings] == ["timestamp_order"]


def test_a_sensor_that_is_clipped_in_every_episode_is_found_if_its_limits_are_known(episodes: list[RecordedEpisode]):
    def clipped(episode: RecordedEpisode, limits: dict[str, tuple[float, float]]) -> RecordedEpisode:
        state = episode.signals["observation.state"].copy()
        state[:, 2] = np.clip(state[:, 2], 1.2, 1.6)
        return replace(episode, signals={**episode.signals, "observation.state": state}, limits=limits)

    unknown = verdicts([clipped(episode, {}) for episode in episodes])
    known = verdicts([clipped(episode, {"observation.state/elbow": (-3.0, 3.0)}) for episode in episodes])
    assert set(unknown) == {""}
    # Only episodes in which the joint reaches the end at speed more than once show it.
    assert known.count("clipped") >= 2


def test_a_quaternion_has_unit_length(episodes: list[RecordedEpisode]):
    def turned(scale: float) -> str:
        quaternion = np.tile([scale, 0.0, 0.0, 0.0], (episodes[0].rows, 1))
        episode = replace(
            episodes[0],
            signals={**episodes[0].signals, "turn": quaternion},
            names={**episodes[0].names, "turn": ()},
            units={**episodes[0].units, "turn": ("quaternion",) * 4},
        )
        return judge(episode, statistics_of([episode, *episodes[1:]]), CONFIG).verdict

    assert turned(1.0) == ""
    assert turned(0.8) == "unit_confusion"
