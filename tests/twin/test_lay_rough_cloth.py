"""A cloth that sticks to the table and to the jaws is laid where it belongs."""

import numpy as np

from tests.conftest import Simulate
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.twin.assemble import assemble
from twinloop.twin.robots.so101 import SO101
from twinloop.twin.tasks.lay_cloth import LAY_CLOTH


def test_a_rough_cloth_is_not_dragged_along_by_a_hand_with_one_hinge(simulate: Simulate):
    """The cloth hangs at the fixed jaw, 24 mm beside the tool. A slack cloth lies on that jaw when it is let go."""
    ranges = {"friction_coefficient": Constant(1.0), "target_position_noise_cm": Uniform(-3, 3)}
    laid = simulate(6, of=assemble(SO101, LAY_CLOTH), ranges=ranges)
    assert np.mean(laid.success) >= 0.8
