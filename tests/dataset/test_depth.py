import numpy as np

from twinloop.dataset.depth import FARTHEST_M, LARGEST_CODE, NEAREST_M, SHIFT_M, to_codes, to_metres


def test_a_depth_round_trips_within_half_a_step():
    metres = np.linspace(NEAREST_M, FARTHEST_M, 100_001, dtype=np.float32)
    step = np.log((FARTHEST_M + SHIFT_M) / (NEAREST_M + SHIFT_M)) / LARGEST_CODE * (metres + SHIFT_M)
    assert (np.abs(to_metres(to_codes(metres)) - metres) <= 0.51 * step).all()


def test_every_code_is_the_code_of_its_depth():
    codes = np.arange(LARGEST_CODE + 1, dtype=np.uint16)
    assert np.array_equal(to_codes(to_metres(codes)), codes)


def test_farther_is_never_a_smaller_code():
    assert (np.diff(to_codes(np.linspace(0, 20, 10_000)).astype(int)) >= 0).all()


def test_depth_out_of_range_is_clipped():
    assert to_codes(np.array([-1.0, 0.0, NEAREST_M, FARTHEST_M, 1e6])).tolist() == [0, 0, 0, LARGEST_CODE, LARGEST_CODE]
