"""Recorded episode -> Quality: what is wrong with it, where, and whether it may be learnt from."""

from twinloop.curate.quality.checks import CHECKS
from twinloop.curate.quality.crowd import Crowd, Summary
from twinloop.curate.quality.finding import Finding
from twinloop.curate.quality.judge import Quality, judge
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.take import FilmFacts, Take

__all__ = ["CHECKS", "Crowd", "FilmFacts", "Finding", "Quality", "QualityConfig", "Summary", "Take", "judge"]
