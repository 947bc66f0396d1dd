"""The page of an evaluation shows the counted numbers and loads nothing from elsewhere."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tests.gate.made_up import PHASES, evaluation_of
from twinloop.dashboard.evaluation import render_evaluation, write_evaluation_report
from twinloop.gate import Evaluation, compare

SOME = np.arange(90) % 3 > 0


def test_success_and_phases_have_intervals():
    page = render_evaluation(evaluation_of(SOME))
    assert "66.7 %" in page
    assert "95 % interval 56.4 % to 75.5 %" in page
    for name in PHASES:
        assert f">{name}</text>" in page
    assert "seed 7, 30 failed" in page


def test_every_chart_is_well_formed():
    page = render_evaluation(evaluation_of(SOME), comparison=compare(evaluation_of(SOME), evaluation_of(~SOME)))
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 2  # phases and times; no parameter changes success, so none has a chart
    for chart in charts:
        ElementTree.fromstring(chart)


def test_only_parameters_that_change_success_have_a_chart_and_all_are_in_the_table():
    result = evaluation_of(SOME)
    result.outcomes.draws["friction_coefficient"][:] = SOME + 0.1 * np.sin(np.arange(90))
    page = render_evaluation(result)
    assert len(re.findall(r"<svg.*?</svg>", page, re.DOTALL)) == 3
    assert "Success falls at low friction_coefficient" in page
    folded = page[page.index("<summary>All 2 parameters") :]
    assert "<td>friction_coefficient</td>" in folded
    assert "<td>object_mass_kg</td>" in folded


def test_the_page_has_checkpoint_seed_and_attempt_of_each_failure():
    page = render_evaluation(evaluation_of(SOME))
    assert page.count(f"{'c' * 12} · 7 · ") == 30


def test_a_comparison_names_the_better_policy_or_calls_it_undecided():
    good, bad = evaluation_of(np.ones(60), name="good"), evaluation_of(np.arange(60) % 2, name="bad")
    assert "good is better than bad on the same 60 draws: +50.0 points" in render_evaluation(
        good, comparison=compare(good, bad)
    )
    assert "bad is worse than good" in render_evaluation(bad, comparison=compare(bad, good))
    assert "draws show no difference between good and good" in re.sub(
        r" \(d{8}\)", "", render_evaluation(good, comparison=compare(good, good))
    )


def test_a_policy_that_never_succeeds_has_a_page_too():
    page = render_evaluation(evaluation_of(np.zeros(10)))
    assert "No episode succeeded." in page
    assert "<svg" in page


def test_videos_are_embedded_and_the_page_loads_nothing(tmp_path: Path):
    film = tmp_path / "a.mp4"
    film.write_bytes(b"not really a film")
    result = evaluation_of(SOME)
    assert "media-src" not in write_evaluation_report(result, tmp_path).read_text()
    page = write_evaluation_report(result, tmp_path, clips={4: film}).read_text()
    assert "default-src 'none'; style-src 'unsafe-inline'; media-src data:" in page
    assert 'src="data:video/mp4;base64,bm90IHJlYWxseSBhIGZpbG0="' in page
    assert not re.search(r"(src|href)=[\"'](?!data:|#)", page)


def test_names_from_outside_are_text():
    result = evaluation_of(SOME)
    evil = Evaluation(replace(result.subject, checkpoint="<script>x</script>", task="<b>"), result.outcomes)
    page = render_evaluation(evil)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
