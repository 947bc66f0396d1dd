"""Charts that a prepared process draws are the charts that this process draws."""

from pathlib import Path

import pytest

from tests.dashboard.made_up import write_run
from twinloop.dashboard.drawing import draw_all, prepare_drawing
from twinloop.dashboard.report import draft_report, write_report
from twinloop.fleet import local
from twinloop.fleet.local import count_prepared, dismiss

DRAWING = "twinloop.dashboard.drawing"
SPECS = [
    {"data": {"values": [{"x": number}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}
    for number in range(4)
]


@pytest.fixture(autouse=True)
def prepared_processes_end():
    yield
    dismiss()


def test_a_prepared_process_draws_the_same_charts_in_order():
    drawings = draw_all(SPECS)
    prepare_drawing(2)
    prepare_drawing(2)
    assert count_prepared(DRAWING) == 1
    assert draw_all(SPECS) == drawings
    assert len(set(drawings)) == len(SPECS)
    assert count_prepared(DRAWING) == 0


def test_charts_are_drawn_if_the_prepared_process_died():
    drawings = draw_all(SPECS)
    prepare_drawing(2)
    for worker in local._PREPARED:
        worker.process.kill()
        worker.process.wait()
    assert draw_all(SPECS) == drawings


def test_a_run_with_one_worker_prepares_no_process():
    prepare_drawing(1)
    assert count_prepared(DRAWING) == 0


def test_a_report_that_was_drafted_before_the_export_is_the_same(tmp_path: Path):
    path = tmp_path / "d"
    write_run(path, episodes=40)
    draft = draft_report(path)
    before = write_report(path).read_text(encoding="utf-8")
    (path / "data" / "late.parquet").write_bytes(bytes(1_000_000))
    late = draft.write().read_text(encoding="utf-8")
    assert write_report(path).read_text(encoding="utf-8") == late != before
