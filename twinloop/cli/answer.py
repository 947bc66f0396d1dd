"""Answer the question that a loop waits for: whether a person who can stop the robot is ready. An answer holds for
twelve hours. Then run the same `twinloop loop` command again."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.deploy.questions import open_question, record_answer
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop answer loops/cell --yes --by ada
  twinloop answer loops/cell --no
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("loop", type=Path, metavar="DIR", help="folder of the loop")
    answers = parser.add_mutually_exclusive_group(required=True)
    answers.add_argument("--yes", action="store_true", help="yes")
    answers.add_argument("--no", action="store_true", help="no")
    parser.add_argument("--by", default="", metavar="NAME", help="who answers (default: the current user)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if not args.loop.is_dir():
        raise UsageError(f"{args.loop}: no such folder; the folder of a loop was expected")
    question = open_question(args.loop)
    answer = record_answer(args.loop, question, yes=args.yes, by=args.by)
    console.print(f"{question}: {'yes' if answer.yes else 'no'}, by {answer.by}", markup=False)
    return {"question": question, "yes": answer.yes, "by": answer.by}
