"""Progress lines where there is no terminal."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from twinloop.cli import progress
from twinloop.cli.progress import Progress, show_progress


@pytest.mark.parametrize(("text", "line"), [("3 rejected", "10/20, 3 rejected, 10 s left"), ("", "10/20, 10 s left")])
def test_a_line_has_no_empty_parts(text: str, line: str, monkeypatch: pytest.MonkeyPatch):
    clock = iter((0.0, 0.0, 10.0))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    output = io.StringIO()
    with show_progress(Console(file=output), "Reading") as show:
        show(Progress(0, 20, text))
        show(Progress(10, 20, text))
    assert output.getvalue() == f"Reading: {line}\n"
