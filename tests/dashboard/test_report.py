import json
import re
from html.parser import HTMLParser

import pytest

from tests.dashboard.made_up import write_run
from twinloop.dashboard import write_report
from twinloop.errors import DatasetError

DRAWN = ("x", "y", "d", "width", "height", "points", "cx", "cy", "viewbox", "transform")
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Nesting(HTMLParser):
    """Checks that every element is closed, in order; collects text and attributes."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.text.append(data)


def read(path) -> tuple[str, Nesting]:
    content = write_report(path).read_text(encoding="utf-8")
    page = Nesting()
    page.feed(content)
    page.close()
    assert page.open == []
    return content, page


def words(page: Nesting) -> str:
    return re.sub(r"\s+", " ", " ".join(page.text))


def test_the_counts_are_those_of_the_dataset(tmp_path):
    verdicts = write_run(tmp_path / "d", episodes=300)
    _, page = read(tmp_path / "d")
    output = words(page)
    accepted = verdicts.count("accepted")
    assert f"accepted: {accepted} (95 % interval" in output
    assert "300 episodes attempted of 300 planned" in output
    assert "complete" in output
    tips = [text for text in page.text if text.startswith("deep penetration: ")]
    assert tips == [f"deep penetration: 30 · {10:.0f} %"]
    assert f"task failed: {verdicts.count('task_failed')} ·" in output
    assert "4.5 mm at most" in output  # the run's own limit, not the default
    assert "twinloop generate config.yaml --seed 11" in output


def test_the_report_names_ranges_with_low_success(tmp_path):
    write_run(tmp_path / "d", episodes=400)
    _, page = read(tmp_path / "d")
    result = re.search(r"Success falls at low friction_coefficient: ([\d.]+) %", words(page))
    assert result
    assert float(result[1]) < 20
    assert words(page).count("Success falls") == 2  # on top of the page and under its chart, and for no other
    charts = words(page)[words(page).index("Each point is a bin") :]
    assert charts.index("friction_coefficient") < charts.index("object_mass_kg")


def test_nothing_is_fetched_and_nothing_runs(tmp_path):
    write_run(tmp_path / "d", episodes=64)
    content, page = read(tmp_path / "d")
    assert not re.search(r"https?:|//|url\(|@import", content.replace("<!--", ""))
    assert not {tag for tag, _ in page.elements} & {"script", "link", "iframe", "img", "object", "embed"}
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")


def test_hostile_text_stays_text(tmp_path):
    evil = "</p><script>alert('x')</script>\"'&<b onclick=x>"
    path = tmp_path / "d"
    write_run(path, episodes=64, task=evil, name=evil, robot=evil, keep_rejected=True)
    (path / "runs.jsonl").write_text(
        json.dumps({"started": evil, "seconds": 2, "episodes": 64, "workers": 1, "timeline": [[1, 32], [2, 64]]})
    )
    content, page = read(path)
    assert not any("onclick" in attributes for _, attributes in page.elements)
    assert "script" not in {tag for tag, _ in page.elements}
    assert "<script" not in content
    assert evil in "".join(page.text)


@pytest.mark.slow
def test_the_same_dataset_gives_the_same_bytes(tmp_path):
    write_run(tmp_path / "a" / "d", episodes=100)
    write_run(tmp_path / "b" / "d", episodes=100)
    first = write_report(tmp_path / "a" / "d").read_bytes()
    assert write_report(tmp_path / "a" / "d").read_bytes() == first  # its own old report does not count
    assert write_report(tmp_path / "b" / "d").read_bytes() == first


def test_a_new_report_replaces_the_old_one_and_leaves_no_other_file(tmp_path):
    write_run(tmp_path / "d", episodes=40)
    before = {file.name for file in (tmp_path / "d").iterdir()}
    (tmp_path / "d" / "report.html").write_text("old")
    assert write_report(tmp_path / "d") == tmp_path / "d" / "report.html"
    assert {file.name for file in (tmp_path / "d").iterdir()} == before | {"report.html"}


@pytest.mark.parametrize(
    ("story", "message"),
    [
        ({"episodes": 200, "committed": 2}, "unfinished: 64 of 200"),
        ({"episodes": 200, "committed": 0}, "No attempt has been written yet"),
        ({"episodes": 70, "all_fail": True}, "accepted: 0 (95 % interval 0 % to"),
        ({"episodes": 70, "all_fail": True, "keep_rejected": True}, "A failure"),
        ({"episodes": 70, "draws": False}, "No parameter varied"),
        ({"episodes": 1}, "1 episode attempted of 1 planned"),
        ({"episodes": 3, "keep_rejected": True}, "A typical episode"),
        ({"episodes": 40, "source": "real"}, "recorded on a robot"),
    ],
)
def test_unusual_datasets_have_a_report_too(tmp_path, story, message):
    write_run(tmp_path / "d", **story)
    _, page = read(tmp_path / "d")
    assert message in words(page)
    assert "nan" not in words(page).split()  # the check that asks about NaN writes it so
    drawn = [str(attributes[name]) for _, attributes in page.elements for name in DRAWN if name in attributes]
    assert not any("nan" in value or "inf" in value for value in drawn)


@pytest.mark.slow
def test_a_long_run_has_a_report_of_the_same_size(tmp_path):
    write_run(tmp_path / "short", episodes=1600, shard_episodes=400)
    write_run(tmp_path / "long", episodes=8000, shard_episodes=2000)
    small = write_report(tmp_path / "short").stat().st_size
    large = write_report(tmp_path / "long").stat().st_size
    assert large < 1.1 * small
    assert large < 400_000


def test_a_folder_that_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="not a dataset"):
        write_report(tmp_path)
