"""Limits of the quality checks. The defaults are for robots recorded at 10 to 500 Hz."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QualityConfig:
    """Limits of the quality checks. `note_...` are the limits for a note instead of an error.

    Attributes:
        shortest_s, shortest_rows: minimum length of an episode.
        gap_periods: maximum time between two rows, in periods.
        jitter_share: 95 % quantile of the deviation from the median period, as a share of it.
        rate_share: relative difference between declared and measured rate.
        spike_steps, spike_share: size of a spike, in usual steps and as a share of the channel's span.
        absurd_factor: size of a value relative to the usual size of its channel.
        frozen_s: time that a reading may repeat while its command moves.
        copy_share: share of the rows with motion in which action and state may be equal.
        limit_share: distance beyond a joint limit, as a share of the joint's range.
        clip_share, clip_runs: share of the rows at one extreme value, and number of stretches.
        follow: minimum correlation between command and reading at which the two are compared.
    """

    shortest_s: float = 0.5
    shortest_rows: int = 10
    gap_periods: float = 3.5
    note_gap_periods: float = 1.75
    jitter_share: float = 0.3
    note_jitter_share: float = 0.1
    rate_share: float = 0.05
    note_rate_share: float = 0.01
    spike_steps: float = 6.0
    spike_share: float = 0.12
    absurd_factor: float = 1e4
    frozen_s: float = 0.5
    copy_share: float = 0.95
    limit_share: float = 0.02
    clip_share: float = 0.05
    clip_runs: int = 2
    follow: float = 0.8
