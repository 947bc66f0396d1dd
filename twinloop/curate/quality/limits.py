"""How far a recording may be from perfect and still be believed. The defaults are for arms at 10 to 500 Hz."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QualityConfig:
    """shortest_s, shortest_rows: of an episode.
    gap_periods, note_gap_periods: time between two rows.
    jitter_share, note_jitter_share: 95 % quantile of how far a period is from the median one, as a share of it.
    rate_share, note_rate_share: how far the declared rate may be from the one measured.
    spike_steps: a value that leaves and returns at once, in ordinary steps. spike_share: of the channel's span.
    absurd_factor: a value against the usual size of its channel.
    frozen_s: how long a sensor may repeat itself exactly while its command moves.
    copy_share: of the rows in which something moves that may be exact copies.
    limit_share: how far beyond its range a joint may be, as a share of the range.
    clip_share, clip_runs: of the rows at one extreme value, in how many stretches.
    follow: the least correlation of a command with what it commands that lets one compare them.
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
