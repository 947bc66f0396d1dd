"""Trust: how well success in the twin predicts success on the robot. One judgement, two sources of rates.

judgement.py    rates of policies in twin and reality -> Trust
twins.py        rates from the registry's ledger; a twin whose predictions failed is demoted
pairs_file.py   rates from a JSON file, for `twinloop trust`
"""

from .judgement import CheckedPrediction, PolicyPair, TaskTrust, Trust, TrustRules, trust
from .pairs_file import load_pairs, pairs_of
from .twins import TwinTrust, enter_twins, twins_of

__all__ = [
    "CheckedPrediction",
    "PolicyPair",
    "TaskTrust",
    "Trust",
    "TrustRules",
    "TwinTrust",
    "enter_twins",
    "load_pairs",
    "pairs_of",
    "trust",
    "twins_of",
]
