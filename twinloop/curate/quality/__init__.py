"""RecordedEpisode -> Quality: the faults of a recording and its verdict."""

from twinloop.curate.quality.checks import CHECKS
from twinloop.curate.quality.dataset_statistics import DatasetStatistics, EpisodeStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.following import estimate_pair_delay
from twinloop.curate.quality.judge import Quality, judge
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, STATE, FilmFacts, RecordedEpisode
from twinloop.curate.quality.units import confusion

__all__ = [
    "ACTION",
    "CHECKS",
    "STATE",
    "DatasetStatistics",
    "EpisodeStatistics",
    "FilmFacts",
    "Quality",
    "QualityConfig",
    "QualityFinding",
    "RecordedEpisode",
    "confusion",
    "estimate_pair_delay",
    "judge",
]
