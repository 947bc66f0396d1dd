"""A loop asks people, waits for answers, and continues; answers expire."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from twinloop.deploy.questions import ANSWERS, WAITING, People, WaitingError, open_question, record_answer
from twinloop.errors import CorruptError, UsageError
from twinloop.pipeline.loop.record import write_json


def test_a_simulated_robot_needs_no_answer(tmp_path: Path):
    People(tmp_path, simulated=True, ask=lambda _: pytest.fail("asked")).require_ready(0, "twin")
    assert not (tmp_path / WAITING).exists()


def test_the_loop_waits_until_somebody_answers_yes(tmp_path: Path):
    people = People(tmp_path, simulated=False)
    with pytest.raises(WaitingError, match="must be ready"):
        people.require_ready(0, "arm")
    assert open_question(tmp_path) == "ready-0"
    record_answer(tmp_path, "ready-0", yes=False, by="ada")
    with pytest.raises(WaitingError):
        people.require_ready(0, "arm")
    record_answer(tmp_path, "ready-0", yes=True, by="ada")
    people.require_ready(0, "arm")
    assert not (tmp_path / WAITING).exists()
    with pytest.raises(WaitingError):  # the next round asks again
        people.require_ready(1, "arm")


def test_an_answer_at_the_terminal_is_kept(tmp_path: Path):
    questions: list[str] = []
    People(tmp_path, simulated=False, ask=lambda text: not questions.append(text)).require_ready(2, "arm")
    assert questions == ["Is a person who can stop arm ready for the trials of round 2?"]
    People(tmp_path, simulated=False).require_ready(2, "arm")


def test_an_old_answer_no_longer_holds(tmp_path: Path):
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    write_json(tmp_path / ANSWERS, {"ready-0": {"yes": True, "by": "ada", "time": yesterday}})
    with pytest.raises(WaitingError):
        People(tmp_path, simulated=False).require_ready(0, "arm")


def test_a_damaged_file_or_no_question_is_an_error(tmp_path: Path):
    with pytest.raises(UsageError, match="no loop waits"):
        open_question(tmp_path)
    (tmp_path / ANSWERS).write_text('{"ready-0": {"yes": true}}')
    with pytest.raises(CorruptError, match="does not contain the answers"):
        People(tmp_path, simulated=False).require_ready(0, "arm")
    write_json(tmp_path / WAITING, {"question": "approval", "commands": ["twinloop approve 12"]})
    with pytest.raises(UsageError, match="waits for something else: twinloop approve 12"):
        open_question(tmp_path)
