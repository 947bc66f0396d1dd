"""The report of a run: its drawing process starts before the run ends, and its draft exists before the export."""

from pathlib import Path

import pytest

from tests.dashboard.made_up import write_run
from twinloop.cli.early_report import EarlyReport
from twinloop.dashboard.report import write_report
from twinloop.dataset.progress import GenerateProgress
from twinloop.fleet.local import count_prepared, dismiss

DRAWING = "twinloop.dashboard.drawing"


@pytest.fixture(autouse=True)
def prepared_processes_end():
    yield
    dismiss()


def after(attempted: int) -> GenerateProgress:
    return GenerateProgress(
        planned=100, attempted=attempted, accepted=attempted, frames=9, fresh=attempted, seconds=1.0
    )


@pytest.mark.parametrize(("attempted", "processes"), [((0, 50, 89), 0), ((80, 90, 95), 1), ((100,), 0)])
def test_the_drawing_process_starts_when_nine_of_ten_episodes_are_made(
    tmp_path: Path, attempted: tuple[int, ...], processes: int
):
    with EarlyReport(tmp_path, workers=2) as early:
        for count in attempted:
            early.on_progress(after(count))
    assert count_prepared(DRAWING) == processes


def test_the_draft_is_made_before_the_export_and_uses_the_prepared_process(tmp_path: Path):
    path = tmp_path / "data"
    write_run(path, episodes=40)
    with EarlyReport(path, workers=2) as early:
        early.on_progress(after(95))
        early.on_committed(2)
    assert count_prepared(DRAWING) == 0  # it has drawn the charts
    (path / "meta" / "late.bin").write_bytes(bytes(1000))  # an export that ends later
    text = early.write().read_text(encoding="utf-8")
    assert text == write_report(path).read_text(encoding="utf-8")
    assert text.count("<svg") > 3
