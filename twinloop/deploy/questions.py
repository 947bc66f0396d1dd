"""Questions of a loop to people, and their answers. A loop that needs an answer stops; the same command continues it.

waiting.json   the open question, while there is one
answers.json   question -> answer, by whom and when
"""

import getpass
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from twinloop.config.json_file import load_json
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import CorruptError, TwinloopError, UsageError

MOST_BYTES = 1 << 20
WAITING, ANSWERS = "waiting.json", "answers.json"
READY_FOR = timedelta(hours=12)
"""How long the answer that a person is ready holds: nobody stands beside a robot for days."""

Ask = Callable[[str], bool | None]
"""Asks a person a question in words. None: nobody can be asked now."""


class WaitingError(TwinloopError):
    """The loop waits for a person. `question` is its name, `commands` are the commands that answer it."""

    exit_code = 5

    def __init__(self, question: str, text: str, commands: tuple[str, ...]):
        super().__init__(f"waiting: {text}. Then run the same command again")
        self.question, self.text, self.commands = question, text, commands


@dataclass(frozen=True)
class Answer:
    """A person's answer."""

    yes: bool
    by: str
    time: str


class People:
    """The people around the loop in `out`.

    Args:
        simulated: the robot is a rehearsal, and nobody needs to be asked.
        ask: asks at the terminal.
    """

    def __init__(self, out: Path, *, simulated: bool, ask: Ask = lambda _: None):
        self._out, self._simulated, self._ask = out, simulated, ask

    def require_ready(self, round_number: int, robot: str) -> None:
        """Return once a person has confirmed that somebody can stop the robot.

        Raises:
            WaitingError: nobody has confirmed it, or not lately.
        """
        if self._simulated:
            return
        question = f"ready-{round_number}"
        text = f"a person who can stop {robot} must be ready for the trials of round {round_number}"
        answer = self._answers().get(question)
        if answer is not None and datetime.fromisoformat(answer.time) < datetime.now(UTC) - READY_FOR:
            answer = None
        if answer is None:
            given = self._ask(f"Is a person who can stop {robot} ready for the trials of round {round_number}?")
            if given is not None:
                answer = record_answer(self._out, question, yes=given, by="")
        if answer is None or not answer.yes:
            self.wait(question, text, (f"twinloop answer {self._out} --yes --by NAME",))
        (self._out / WAITING).unlink(missing_ok=True)

    def wait(self, question: str, text: str, commands: tuple[str, ...]) -> None:
        """Note the question for pages and other commands, and stop the loop."""
        _write(self._out / WAITING, {"question": question, "text": text, "commands": list(commands)})
        raise WaitingError(question, text, commands)

    def _answers(self) -> dict[str, Answer]:
        return read_answers(self._out)


def read_answers(out: Path) -> dict[str, Answer]:
    file = out / ANSWERS
    if not file.exists():
        return {}
    what = "the answers of people to a loop"
    content = load_json(file, max_bytes=MOST_BYTES, what=what, error=CorruptError)
    try:
        answers = {str(name): Answer(one["yes"] is True, str(one["by"]), str(one["time"]))
                   for name, one in content.items()}  # fmt: skip
        for answer in answers.values():
            if datetime.fromisoformat(answer.time).tzinfo is None:
                raise ValueError("a time has no time zone")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptError(f"{file}: does not contain {what} ({error!s:.100}); delete it and answer again") from None
    return answers


def open_question(out: Path) -> str:
    """The name of the question that a loop waits for.

    Raises:
        UsageError: the loop waits for nothing that can be answered.
    """
    if not (out / WAITING).exists():
        raise UsageError(f"{out}: no loop waits for an answer there")
    content = load_json(out / WAITING, max_bytes=MOST_BYTES, what="a question of a loop", error=CorruptError)
    question = str(content.get("question", "")) if isinstance(content, dict) else ""
    if not question.startswith("ready-"):
        commands = ", ".join(content.get("commands", [])) if isinstance(content, dict) else ""
        raise UsageError(f"{out}: the loop waits for something else: {commands or question}")
    return question


def record_answer(out: Path, question: str, *, yes: bool, by: str) -> Answer:
    answer = Answer(yes, by or getpass.getuser(), datetime.now(UTC).isoformat(timespec="seconds"))
    answers = {**read_answers(out), question: answer}
    _write(out / ANSWERS, {name: vars(one) for name, one in answers.items()})
    return answer


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with storage_errors(file):
        replace_file(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode(), scratch=file.parent)
