from twinloop.diagnose.hypothesis import ends_of, rows_of
from twinloop.randomize.parameter import GAPS
from twinloop.randomize.table import BY_NAME, TABLE

THERE = {"pictures": False, "wrist": False, "touch": False, "person": False, "soft": False}


def test_rows_of_things_that_are_not_there_are_not_asked_for():
    names = {row.name for gap in GAPS for row in rows_of(gap, **THERE)}
    assert not any(name.startswith(("touch_", "force_", "hand_", "occluder", "solver_")) for name in names)
    assert "lighting_intensity" in names
    more = {row.name for gap in GAPS for row in rows_of(gap, **dict.fromkeys(THERE, True))}
    assert {"force_noise_n", "touch_noise_n", "exposure_ev", "hand_speed_m_s"} <= more
    assert more == {row.name for row in TABLE if row.reach > 0 and "arm" in row.robots}


def test_hypotheses_reach_further_than_sensible_ranges_and_no_further_than_plausible_ones():
    low, high = ends_of(BY_NAME["action_delay_ms"])
    assert low == 0
    assert BY_NAME["action_delay_ms"].sensible[1] < high <= BY_NAME["action_delay_ms"].plausible[1]
