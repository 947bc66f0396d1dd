"""Trust in a twin: trusted while predictions hold, untested without predictions, distrusted after failures."""

import json
import re
from pathlib import Path

import pytest

from twinloop.cli import main
from twinloop.dashboard.trust import render_trust
from twinloop.errors import UsageError
from twinloop.gate.statistics.prediction import PredictionInterval
from twinloop.gate.trust import CheckedPrediction, load_pairs, pairs_of, trust

ROOT = Path(__file__).parents[3]
SIMPLER = [parent / "shared/data/simpler_paired/perf.json" for parent in ROOT.parents[:2]]
PUBLISHED = {
    "google_robot_pick_coke_can": (0.975, 0.031),
    "google_robot_move_near": (0.856, 0.111),
    "google_robot_open_drawer": (0.983, 0.0),
    "google_robot_close_drawer": (0.771, 0.123),
    "google_robot_place_apple_in_closed_top_drawer": (0.969, 0.0),
}
SIM = (0.9, 0.1, 0.5, 0.7, 0.3, 0.8, 0.2, 0.6)


def content(sim: tuple[float, ...], real: tuple[float, ...], task: str = "pick") -> dict:
    names = [f"p{place}" for place in range(len(sim))]
    return {
        "real": {task: dict(zip(names, real, strict=True))},
        "sim": {task: dict(zip(names, sim, strict=True))},
    }


def judged(sim: tuple[float, ...], real: tuple[float, ...], **more):
    return trust(pairs_of(content(sim, real), name="made up"), seed=0, **more)


def test_the_published_figures_are_reproduced():
    path = next((path_ for path_ in SIMPLER if path_.is_file()), None)
    if path is None:
        pytest.skip("the real rates of SIMPLER are not beside this repository: ../shared/data/simpler_paired")
    result = trust(load_pairs(path), seed=0)
    for name, (correlation, violation) in PUBLISHED.items():
        task = result.task(name)
        assert task is not None
        assert task.agreement.pearson == pytest.approx(correlation, abs=5e-4)
        assert task.agreement.mmrv == pytest.approx(violation, abs=5e-4)
        assert task.level == "trusted"
    assert result.level == "trusted"


def test_a_twin_that_is_biased_but_consistent_is_trusted():
    real = tuple(0.6 * rate + 0.02 * (place % 2) for place, rate in enumerate(SIM))
    result = judged(SIM, real)
    assert result.level == "trusted"
    assert result.record.made == len(SIM) - 3
    band = result.tasks[0].predict(0.4, confidence=0.9)
    assert band.low < 0.25 < band.high


def test_a_twin_that_ranks_the_wrong_way_round_is_not():
    result = judged(SIM, tuple(1 - rate for rate in SIM))
    assert result.level == "distrusted"
    assert any("correlation" in reason for reason in result.reasons)


def test_predictions_that_failed_demote_it_however_well_it_correlates():
    real = tuple(0.9 * rate for rate in SIM)
    broken = [
        CheckedPrediction("pick", f"q{n}", PredictionInterval(0.8, 0.7, 0.65, 0.75, 0.9, 8), 0.3) for n in range(4)
    ]
    assert judged(SIM, real).level == "trusted"
    result = judged(SIM, real, predictions=broken)
    assert result.level == "distrusted"
    assert "4 of 4 real rates fell outside" in result.reasons[0]


def test_too_little_is_untested():
    for many in (1, 2, 3):
        result = judged(SIM[:many], SIM[:many])
        assert result.level == "untested"
        assert "too few to judge" in result.reasons[0]
    flat = judged((1.0,) * 6, SIM[:6])
    assert flat.level == "untested"
    assert "same rate in the twin or in reality" in flat.reasons[0]
    assert trust({}, seed=0).level == "untested"


def test_all_forms_of_a_rate_are_read_and_counts_widen():
    forms = {"a": 0.5, "b": {"rate": 0.25, "trials": 8}, "c": {"successes": 3, "trials": 4}}
    (pairs,) = pairs_of({"real": {"t": forms}, "sim": {"t": forms}, "note": "x"}, name="made up").values()
    assert [(pair.real.rate, pair.real.trials) for pair in pairs] == [(0.5, None), (0.25, 8), (0.75, 4)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"real": {"t": {"p": NaN}}, "sim": {"t": {"p": 0.5}}}', "NaN is not a finite number"),
        ('{"real": {"t": {"p": 1e999}}, "sim": {"t": {"p": 0.5}}}', r"real\.t\.p: is inf; a number from 0 to 1"),
        ('{"real": {"t": {"p": 1.5}}, "sim": {"t": {"p": 0.5}}}', r"real\.t\.p: is 1\.5; a number from 0 to 1"),
        ('{"real": {"t": {"p": true}}, "sim": {"t": {"p": 0.5}}}', r"real\.t\.p: is True; a number from 0 to 1"),
        ('{"real": {"t": {"p": "0.5"}}, "sim": {"t": {"p": 0.5}}}', "a number from 0 to 1"),
        ('{"real": {"t": {"p": {"rate": 0.5}}}, "sim": {"t": {"p": 0.5}}}', r"real\.t\.p\.trials: is missing"),
        (
            '{"real": {"t": {"p": {"rate": 0.5, "trials": 0}}}, "sim": {"t": {"p": 0.5}}}',
            r"real\.t\.p\.trials: is 0; it must be from 1",
        ),
        (
            '{"real": {"t": {"p": {"successes": 9, "trials": 4}}}, "sim": {"t": {"p": 0.5}}}',
            r"real\.t\.p\.successes: is 9 of 4 trials",
        ),
        ('{"real": {"t": {"p": {"trials": 4}}}, "sim": {"t": {"p": 0.5}}}', r"real\.t\.p: has to be one of the forms"),
        ('{"real": {"t": {"p": 0.5}}, "sim": {"u": {"p": 0.5}}}', "task t: only under real"),
        ('{"real": {"t": {"p": 0.5}}, "sim": {"t": {"p": 0.5, "q": 1}}}', "policy of t q: only under sim"),
        ('{"real": {"t": {"p": 0.5, "p": 0.6}}, "sim": {"t": {"p": 0.5}}}', "'p' occurs twice"),
        ('{"real": {}, "sim": {}}', "real: has 0 tasks; 1 at least"),
        ('{"real": {"t": {"p": 0.5}}}', "sim: is missing; a mapping"),
        ('{"real": {}, "sim": {}, "rael": {}}', "did you mean real"),
        ('{"real": [], "sim": {}}', r"real: is \[\]; a mapping from the name of a task"),
        ("[" * 100_000, "is not valid JSON"),
        ("{", "is not valid JSON"),
    ],
)
def test_errors_in_the_file_are_named(tmp_path: Path, text: str, says: str):
    path = tmp_path / "pairs.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=says) as caught:
        load_pairs(path)
    assert str(path) in str(caught.value)


def test_the_command_prints_the_result_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, report = tmp_path / "pairs.json", tmp_path / "trust.html"
    path.write_text(json.dumps(content(SIM, tuple(0.9 * rate for rate in SIM), task="pick <it>")))
    assert main(["trust", str(path), "--predict", "0.4", "--report", str(report), "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    task = output["tasks"]["pick <it>"]
    assert output["level"] == "trusted"
    assert task["pearson"] == pytest.approx(1)
    assert task["mmrv"] == 0
    assert task["predicted"]["low"] < 0.36 < task["predicted"]["high"]
    drawn = report.read_text()
    assert len(re.findall(r"<title>p\d: twin", drawn)) == 3 * len(SIM)  # two whiskers and a point
    assert "pick &lt;it&gt;" in drawn
    assert "<it>" not in drawn
    assert main(["trust", str(path)]) == 0
    assert "pick <it>" in capsys.readouterr().out
    assert main(["trust", str(path), "--task", "pik"]) == 2
    assert main(["trust", str(tmp_path / "none.json")]) == 2


def test_a_page_without_policies_is_rendered():
    assert "None was tested" in render_trust(judged((0.5,), (0.4,)), name="made up")
