"""Conversions between lerobot's units and ours."""

import math

import numpy as np
import pytest

from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.deploy.lerobot.units import DeviceUnit, LinearUnit
from twinloop.errors import ConfigError


def line(**keys) -> LinearUnit:
    return read_record(DeviceUnit, Section("arm.yaml", "joints.j", keys, {})).line


@pytest.mark.parametrize(
    ("keys", "pairs"),
    [
        ({"given": "degrees"}, [(180.0, math.pi), (-90.0, -math.pi / 2)]),
        ({"given": "degrees", "direction": -1, "zero": 0.5}, [(0.0, 0.5), (90.0, 0.5 - math.pi / 2)]),
        ({"given": "radians", "zero": -0.1}, [(0.3, 0.2)]),
        ({"given": "-100..100", "ends": [-1.0, 3.0], "unit": "rad"}, [(-100.0, -1.0), (0.0, 1.0), (100.0, 3.0)]),
        ({"given": "0..100", "ends": [0.08, 0.0], "unit": "m"}, [(0.0, 0.08), (100.0, 0.0), (25.0, 0.06)]),
        ({"given": "as_is", "unit": "N"}, [(7.0, 7.0)]),
    ],
)
def test_known_points_and_the_way_back(keys, pairs):
    made = line(**keys)
    for theirs, ours in pairs:
        assert made.ours(theirs) == pytest.approx(ours)
        assert made.theirs(ours) == pytest.approx(theirs)
    for theirs in np.random.default_rng(0).uniform(-180, 180, 100):
        assert made.theirs(made.ours(theirs)) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({}, "given: is missing; one of degrees, radians"),
        ({"given": "degree"}, "did you mean degrees"),
        ({"given": "0..100", "unit": "m"}, "ends: is missing.*lerobot's are at the lower and upper end"),
        ({"given": "as_is", "unit": ""}, "unit: is empty"),
        ({"given": "0..100", "unit": "m", "ends": [1, 1]}, r"ends: is \[1.0, 1.0\]; two different numbers"),
        ({"given": "-100..100", "ends": [0, 1]}, "unit: is missing"),
        ({"given": "degrees", "direction": 0}, "1 or -1"),
        ({"given": "degrees", "ends": [0, 1]}, "ends: is not a key"),
    ],
)
def test_conversions_without_inverse_or_meaning_are_refused(keys, complaint):
    with pytest.raises(ConfigError, match=complaint):
        line(**keys)
