"""Real trials repeated in the twin: combined only if scenes have the same distribution; altered files are refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.gate.runlogs import Trial, runlog
from tests.gate.world import World, refused
from twinloop.errors import CorruptError
from twinloop.gate.evidence import show_evaluation
from twinloop.gate.promote import Promotion
from twinloop.gate.repeats import (
    LAYOUT,
    Repeat,
    Repeats,
    combined,
    folder_of,
    load_repeats,
    trial_names,
    unlike_scenes,
    write_repeats,
)
from twinloop.gate.runlog_evidence import load_runlog
from twinloop.gate.statistics.prediction_powered import Combined

COUNT = 16
TWIN = "c" * 64
RULE = "with the twin"


def scenes(count: int, *, seed: int, shift_m: float = 0.0) -> tuple[tuple[float, ...], ...]:
    """Object within 4 cm, turned by up to 45 degrees; the goal is fixed, with sensor noise."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(-0.02, 0.02, (count, 2)) + np.array([0.46 + shift_m, -0.13])
    goal = rng.normal(0, 0.001, (count, 2)) + np.array([0.52, 0.17])
    return tuple(map(tuple, np.column_stack([xy, rng.uniform(-45, 45, count), goal]).tolist()))


def runlog_of_trials(world: World, count: int = COUNT) -> Path:
    return runlog(world.path / "runs" / "log", [Trial(world.digest(1))] * count, shard=4)


def repeated(world: World, log: Path, *, shift_m: float = 0.0, twin: str = TWIN) -> Repeats:
    """Repeats in a twin that draws the scenes of these trials and succeeds in most of them."""
    names = trial_names(load_runlog(log).episodes)
    layouts = scenes(len(names), seed=1, shift_m=shift_m)
    trials = tuple(Repeat(*trial, place % 8 != 7) for place, trial in enumerate(
        zip(names, ["cube"] * len(names), layouts, strict=True)
    ))  # fmt: skip
    return Repeats(world.digest(1), twin, "cell", "cube", 1_000_001, None, scenes(200, seed=2), trials)


def put(world: World, repeats: Repeats) -> Path:
    return write_repeats(repeats, folder_of(world.registry, world.digest(1)))


def promoted(world: World, log: Path) -> Promotion:
    return world.promote(1, to="production", runlogs=(log,))


def sentence_of(promotion: Promotion, rule: str) -> str:
    return next(finding.sentence for finding in promotion.steps[0].decision.findings if finding.rule == rule)


def test_round_trip(world: World):
    repeats = repeated(world, runlog_of_trials(world))
    assert load_repeats(put(world, repeats)) == repeats


def test_trials_that_the_twin_repeated_are_combined_with_it(world: World):
    log = runlog_of_trials(world)
    repeats = repeated(world, log)
    put(world, repeats)
    promotion = promoted(world, log)
    assert promotion.reached == "production"
    assert "worth" in sentence_of(promotion, RULE)
    record = promotion.steps[0].record
    assert record is not None
    (entry,) = [evidence for evidence in record.evidence if evidence["kind"] == "repeats"]
    assert (entry["digest"], entry["trials"], entry["repeated"]) == (repeats.digest(), COUNT, COUNT)


def without(repeats: Repeats, place: int) -> Repeats:
    trials = list(repeats.trials)
    trials[place] = replace(trials[place], success=None, why="it lay elsewhere")
    return replace(repeats, trials=tuple(trials))


NOT_COMBINED: dict[str, tuple[str, Callable[[World, Path], Repeats]]] = {
    "one that could not be repeated": ("it lay elsewhere", lambda world, log: without(repeated(world, log), 3)),
    "one that came later": (
        "1 of 16 trials", lambda world, log: replace(repeated(world, log), trials=repeated(world, log).trials[:-1])
    ),
    "scenes drawn elsewhere": ("are distributed unlike", lambda world, log: repeated(world, log, shift_m=0.03)),
    "another kind of object": (
        "on the robot: cube; in the twin: can", lambda w, log: replace(repeated(w, log), object="can")
    ),
    "a twin without an evaluation": ("no evaluation", lambda world, log: repeated(world, log, twin="f" * 64)),
    "chunks averaged in another way": ("no evaluation", lambda w, log: replace(repeated(w, log), ensemble=0.1)),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_COMBINED)
def test_trials_that_cannot_be_combined_are_judged_alone(world: World, name: str):
    words, repeats = NOT_COMBINED[name]
    log = runlog_of_trials(world)
    put(world, repeats(world, log))
    least = world.rules.production.least_success
    world.rules = replace(world.rules, production=replace(world.rules.production, least_success=0.85))
    promotion = promoted(world, log)
    refused(promotion, RULE)
    assert words in sentence_of(promotion, RULE)
    assert "the trials alone give 0.79 to 1.00" in sentence_of(promotion, RULE)
    world.rules = replace(world.rules, production=replace(world.rules.production, least_success=least))
    assert promoted(world, log).reached == "production"


def test_of_several_twins_the_least_favourable_counts(world: World):
    # Both twins predict every trial; in one of them such scenes are rarer.
    trials = [Trial(world.digest(1), place % 8 != 7) for place in range(COUNT)]
    log = runlog(world.path / "runs" / "log", trials)
    other = world.evaluated(1, rate=0.82, twin="f" * 64)
    both = repeated(world, log), repeated(world, log, twin="f" * 64)
    for repeats in both:
        put(world, repeats)
    promotion = world.promote(1, to="production", runlogs=(log,), evaluations=(other,))
    (measured,) = [finding.measured for finding in promotion.steps[0].decision.findings if finding.rule == RULE]
    evaluations = [show_evaluation(path) for path in (world.evaluated(1), other)]
    lows = [rate.low for rate in (combined(one, load_runlog(log).episodes, evaluations) for one in both)
            if isinstance(rate, Combined)]  # fmt: skip
    assert len(set(lows)) == 2
    assert measured == min(lows)


def test_damaged_repeats_are_refused(world: World):
    log = runlog_of_trials(world)
    path = put(world, repeated(world, log))
    whole = path.read_text()
    for broken in (
        whole.replace('"success": false', '"success": true', 1), whole[: len(whole) // 2], "[]", "{}",
        whole.replace(TWIN, "e" * 64), whole.replace('"format_version": 1', '"format_version": 2'),
    ):  # fmt: skip
        assert broken != whole
        path.write_text(broken)
        with pytest.raises(CorruptError):
            load_repeats(path)
    promotion = promoted(world, log)
    refused(promotion, "evidence")
    assert path.name in sentence_of(promotion, "evidence")


def test_repeats_may_grow(world: World):
    few = repeated(world, runlog_of_trials(world, 4))
    put(world, few)
    assert not promoted(world, runlog_of_trials(world, 4)).promoted  # too few trials
    log = runlog_of_trials(world)
    put(world, replace(few, trials=(*few.trials, *repeated(world, log).trials[4:])))
    assert promoted(world, log).reached == "production"


def test_evidence_cannot_be_withdrawn(world: World):
    log = runlog_of_trials(world)
    bad = without(repeated(world, log), 0)
    path = put(world, bad)
    usual = world.rules
    stricter = replace(usual.production, least_success=0.85)  # more than the trials alone give
    world.rules = replace(usual, production=stricter)
    refused(promoted(world, log), RULE)
    world.rules = usual
    better = replace(bad.trials[0], success=True, why="")
    put(world, replace(bad, trials=(better, *bad.trials[1:])))
    promotion = promoted(world, log)
    refused(promotion, "evidence")
    assert "not those used as evidence before" in sentence_of(promotion, "evidence")
    path.unlink()
    promotion = promoted(world, log)
    refused(promotion, "evidence")
    assert "was used as evidence before; now it is missing" in sentence_of(promotion, "evidence")


def test_scenes_of_another_distribution_are_detected_with_few_false_alarms():
    def difference(seed: int, count: int, **changes) -> str:
        layouts = scenes(count, seed=seed, **changes)
        trials = [Repeat(str(place), "cube", layout, True) for place, layout in enumerate(layouts)]
        return unlike_scenes(Repeats("", TWIN, "cell", "cube", 0, None, scenes(512, seed=999), ()), trials)

    assert sum(bool(difference(seed, 15)) for seed in range(200)) <= 20  # 10 are to be expected at most
    for seed in range(20):
        assert LAYOUT[0] in difference(seed, 15, shift_m=0.03)
        assert LAYOUT[0] in difference(seed, 60, shift_m=0.015)
    moved = [Repeat("0", "cube", (0.46, -0.13, 0.0, 0.52, 0.20), True)] * 15
    assert "goal_y_m is up to" in unlike_scenes(
        Repeats("", TWIN, "cell", "cube", 0, None, scenes(512, seed=999), ()), moved
    )
