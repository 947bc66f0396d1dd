"""Leaving logs out: the same is left whoever does it, in whatever order."""

import numpy as np

from tests.calibrate.made import command, logs_of_truth, xl330
from twinloop.calibrate.fit import typical_swings
from twinloop.calibrate.left_out import Refit, refit_without
from twinloop.calibrate.objective import Objective
from twinloop.fleet.executor import LOCAL

TRUTH = {"pendulum.resistance_ohm": 3.0, "pendulum.coulomb_nm": 0.02}


def test_what_is_left_is_the_same_at_any_number_of_workers():
    bench = xl330()
    logs = tuple(logs_of_truth(bench, TRUTH, seed=1, asked=[command(kind, 120) for kind in (0, 1, 2)]))
    objective = Objective(bench, logs, list(TRUTH), threads=1)
    typical = typical_swings(objective)
    job = Refit(bench, logs, tuple(TRUTH), objective.start, objective.scale, typical, rounds=2, threads=1)
    groups = [(0,), (1,), (2,)]
    alone, together = (dict(LOCAL.run(refit_without, job, groups, workers=workers)) for workers in (1, 2))
    assert alone.keys() == together.keys() == set(groups)
    for group in groups:
        for name, rows in alone[group].items():
            assert len(rows) == 1
            assert np.array_equal(rows[0], together[group][name][0])
            assert len(rows[0])
