"""Laws of charts: well-formed SVG, values where they belong, text escaped, colours from the page's theme."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from twinloop.curate.coverage import coverage
from twinloop.curate.rates import Rate, success_by_parameter
from twinloop.dashboard.charts import (
    Bar,
    Layer,
    Line,
    RatePair,
    bars,
    detector,
    heat,
    histogram,
    lines,
    path_plot,
    phase_bands,
    rate_bars,
    rates_by_value,
    sequential_path,
    signals,
    success_scatter,
)
from twinloop.dashboard.charts.channels import quantity, room_around
from twinloop.dashboard.charts.intervals import Estimate, from_zero, interval_dots
from twinloop.dashboard.charts.lines import Panel, PathView
from twinloop.dashboard.vega import Chart

EVIL = "</text><script>alert('x')</script>\"'&"
TIME_S = np.linspace(0, 2, 30)
PHASE = np.minimum((3 * TIME_S).astype(int), 4)
DRAWS = {"a": np.linspace(0, 1, 80) ** 2, "b": np.sin(np.arange(80))}
SPOTS = {"goal": (0.2, 0.1), "start": (0.0, 0.0), "end": (0.2, 0.0)}

CHARTS: dict[str, Chart] = {
    "bars": bars([Bar(EVIL, 50), Bar("b", 25), Bar("c", 0)], EVIL, total=75),
    "no bars": bars([], "none"),
    "histogram": histogram(np.linspace(0, 1, 4), [Layer(EVIL, np.array([1, 0, 3]))], EVIL, "histogram"),
    "heat": heat(coverage(DRAWS).worst_pair, "a (m)", "b (kg)", "heat"),  # type: ignore[arg-type]
    "rates": rate_bars([(EVIL, Rate(0, 5)), ("all", Rate(5, 5)), ("never", Rate(0, 0))], "rates", limit=0.5),
    "parameter": rates_by_value(success_by_parameter(DRAWS, DRAWS["a"] > 0.3)[0], EVIL, "rates"),
    "scatter": success_scatter([RatePair("a", 1, 0, (0.9, 1), None, EVIL, True)], "scatter"),
    "empty scatter": success_scatter([], "scatter"),
    "test": sequential_path([0.1], [-0.1], error=0.05, miss=0.1, unit="trials"),
    "detector": detector([0.0], threshold=1.0, alarm=None, y_title="x", description="x"),
    "alarm": detector([0.2, 1.3], threshold=1.0, alarm=2, y_title="x", description="x"),
    "lines": lines([Line(EVIL, TIME_S, np.sin(TIME_S))], quantity("x"), quantity("y"), "lines", dots=True),
    "signals": signals(TIME_S, [Panel(EVIL, {EVIL: TIME_S})], phase_bands(TIME_S, PHASE, (EVIL,)), "signals"),
    "path": path_plot([PathView(EVIL, TIME_S, TIME_S, SPOTS, "x", "y")], PHASE, "path"),
    "intervals": interval_dots([Estimate(EVIL, 1, 0, 2, EVIL)], from_zero([2], EVIL), EVIL, limit=1.5),
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return {name: chart.svg() for name, chart in CHARTS.items()}


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_well_formed_and_text_stays_text(drawn: dict[str, str], name: str):
    root = ElementTree.fromstring(drawn[name])
    root = root if root.tag == "svg" else root[0]
    assert root.tag == "svg"
    assert root.get("aria-label") == CHARTS[name].description
    tags = {element.tag for element in root.iter()}
    assert tags <= {"svg", "g", "path", "line", "rect", "text", "title"}, "nothing that runs or loads"
    numbers = " ".join(str(element.get(key, "")) for element in root.iter() for key in ("d", "transform", "x2"))
    assert "nan" not in numbers.lower()
    assert "inf" not in numbers.lower()


@pytest.mark.parametrize("name", CHARTS)
def test_colours_are_those_of_the_theme(drawn: dict[str, str], name: str):
    """A colour that is written into a chart would not follow the reader's dark theme."""
    colours = re.findall(r' (?:fill|stroke)="([^"]+)"', drawn[name])
    assert all(colour in ("none", "transparent") or colour.startswith("var(--") for colour in colours), set(colours)


def test_a_file_of_its_own_has_literal_colours():
    file = CHARTS["bars"].svg(standalone=True)
    ElementTree.fromstring(file)
    assert "var(" not in file


def test_bars_are_as_long_as_their_values(drawn: dict[str, str]):
    paths = [path for path in ElementTree.fromstring(drawn["bars"]).iter("path") if path.find("title") is not None]
    titles = [path.findtext("title") for path in paths]
    assert titles == [f"{EVIL}: 50 · 66.7 %", "b: 25 · 33.3 %", "c: 0"]
    widths = [max(map(float, re.findall(r"-?[\d.]+", str(path.get("d")))[::2])) for path in paths]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.3)


def test_labels_of_the_two_thresholds_do_not_overlap():
    """They were drawn over each other where the thresholds are equal or close."""
    for miss in (0.05, 0.06, 0.1):
        svg = ElementTree.fromstring(sequential_path([0.1], [-0.1], error=0.05, miss=miss, unit="trials").svg())
        heights = {}
        for text in svg.iter("text"):
            if text.text in ("good enough", "not good enough"):
                heights[text.text] = float(re.findall(r"-?[\d.]+", str(text.get("transform")))[1])
        assert abs(heights["good enough"] - heights["not good enough"]) >= 11.5


@pytest.mark.parametrize("ticks", [1e-5, 0.02, 7e5])
def test_ticks_do_not_run_into_the_axis_title(ticks: float):
    """The title is left of the widest tick label."""
    line = Line("a", np.linspace(0, 1, 5), ticks * np.linspace(-1, 1, 5))
    svg = ElementTree.fromstring(lines([line], quantity("x"), quantity("y", "evidence"), "x").svg())
    title_x, label_x = 0.0, []
    for text in svg.iter("text"):
        x = float(re.findall(r"-?[\d.]+", str(text.get("transform")))[0])
        if text.text == "evidence":
            title_x = x
        elif text.get("text-anchor") == "end":
            label_x.append(x - 6.4 * len(str(text.text)))  # the mean width of a digit at 11.5 pixels
    assert label_x
    assert title_x < min(label_x)


def test_a_phase_that_is_repeated_has_two_bands():
    bands = phase_bands(np.arange(7) / 10, np.array([0, 0, 1, 1, 0, 2, 2]), ("reach", "grasp"))
    assert [band.name for band in bands] == ["reach", "grasp", "reach", "phase 2"]
    assert bands[0].start_s == 0
    assert bands[-1].stop_s == pytest.approx(0.6)
    assert all(before.stop_s == after.start_s for before, after in pairwise(bands))


@pytest.mark.parametrize("values", [[5.0], [0.0], [], [-3.0, 8.0, 2.0], [1e-9, 1e9], [float("nan"), 2.0]])
def test_an_axis_has_room_around_its_values(values: list[float]):
    low, high = room_around(values)
    assert low < high
    assert all(low < value < high for value in values if np.isfinite(value))


def test_tick_labels_cannot_become_code():
    with pytest.raises(ValueError, match="quote"):
        quantity("x", labels={1.0: "' + alert(1) + '"})
