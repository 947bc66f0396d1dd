"""A bottle that is let go stands nearly upright, also where the hand of a short arm hardly leans out far enough."""

import numpy as np

from tests.conftest import Simulate
from twinloop.randomize.distribution import Uniform
from twinloop.twin.assemble import assemble
from twinloop.twin.robots.so101 import SO101
from twinloop.twin.tasks.place_upright import PLACE_UPRIGHT


def test_a_short_arm_lets_go_of_an_upright_bottle(simulate: Simulate):
    twin = assemble(SO101, PLACE_UPRIGHT)
    ranges = {
        "object_position_noise_cm": Uniform(-4, 4),
        "object_yaw_deg": Uniform(-45, 45),
        "object_size_scale": Uniform(1.1, 1.2),
        "target_position_noise_cm": Uniform(-4, 4),
    }
    episodes = simulate(24, of=twin, ranges=ranges)
    release = [phase.name for phase in twin.task.phases].index("release")
    begun = (episodes["phase"][1:, 0] == release) & (episodes["phase"][:-1, 0] != release)
    _, x, y, _ = episodes["environment"][1:][begun, 3:7].T
    leans_deg = np.rad2deg(np.arccos(1 - 2 * (x * x + y * y)))
    assert len(leans_deg) >= 20
    assert np.percentile(leans_deg, 90) < 7
