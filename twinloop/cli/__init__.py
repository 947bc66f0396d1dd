"""The command line: parse, call, present. One module a command; nothing is computed here."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from rich.console import Console

from twinloop import __version__
from twinloop.cli import explain, generate, info, merge, parameters, query, report, verify
from twinloop.errors import TwinloopError

COMMANDS = (generate, explain, info, query, verify, merge, report, parameters)

EXAMPLES = """\
examples:
  twinloop generate                                  # the embedded pick-and-place cell
  twinloop generate cell.yaml --episodes 2000 --out datasets/cell
  twinloop explain cell.yaml                         # what would happen, and how long it would take
  twinloop query datasets/cell "select verdict, count(*) from attempts group by verdict"
  twinloop verify datasets/cell --json
"""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    console = Console(stderr=args.json, highlight=False, soft_wrap=True)
    try:
        result = args.run(args, console)
    except TwinloopError as error:
        print(f"twinloop: {error}", file=sys.stderr)
        if args.json:
            print(json.dumps({"error": str(error), "exit_code": error.exit_code}))
        return error.exit_code
    except KeyboardInterrupt:
        print("\ntwinloop: stopped; nothing is lost, the same command continues", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if args.json:
        print(json.dumps(result, default=str))
    return int(result.get("exit_code", 0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="twinloop",
        description="A sim-to-real data pipeline for robot learning.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"twinloop {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.HELP,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="print one JSON object as the last line")
        command.set_defaults(run=module.run)
    return parser
