"""Parses the command line and runs one command. Only the module of that command is imported."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinloop.cli.commands import COMMANDS, GROUPS
from twinloop.errors import ConfigError, TwinloopError, nearest

if TYPE_CHECKING:
    from rich.console import Console

WORK = {"generate": "twinloop.pipeline.produce", "evaluate": "twinloop.gate.rollouts"}
"""Commands that use worker processes, and the module that those import while this process starts up."""

NO_LOCAL_WORKERS = {"-h", "--help", "warp", "--backend=warp", "ray", "--executor=ray"}
"""Arguments with which no local worker is needed: a GPU is driven by this process, and Ray starts its own workers."""

EXAMPLES = """\
examples:
  twinloop generate                                  # the embedded pick-and-place cell
  twinloop generate cell.yaml --episodes 2000 --out datasets/cell
  twinloop explain cell.yaml                         # what would happen, and how long it would take
  twinloop query datasets/cell "select verdict, count(*) from attempts group by verdict"
  twinloop verify datasets/cell --json

`twinloop COMMAND --help` describes one command.
"""


def run_command_line(words: list[str]) -> int:
    """Run the command that `words` names and return the exit code."""
    args = parser_of(words).parse_args(words)
    try:
        return _run(args)
    finally:
        if "twinloop.fleet.local" in sys.modules:
            from twinloop.fleet.local import dismiss

            dismiss()


def parser_of(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that `words` begins with, or of `twinloop` itself."""
    parser = _Parser(prog="twinloop", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser)
    name = words[0] if words else "--help"
    if name in COMMANDS:
        _add_command(commands, name, words)
    elif not name.startswith("-"):
        parser.error(f"unknown command {name!r}; {nearest(name, COMMANDS)}\n`twinloop --help` describes them")
    return parser


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, words: Sequence[str]
) -> None:
    # Once this process has imported the work, there is nothing left to do meanwhile.
    if name in WORK and WORK[name] not in sys.modules and NO_LOCAL_WORKERS.isdisjoint(words):
        from twinloop.fleet.local import prepare

        prepare(WORK[name], os.cpu_count() or 1)
    module = import_module(f"twinloop.cli.{name.replace('-', '_')}")
    command = commands.add_parser(
        name,
        description=module.__doc__,
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(command)
    if hasattr(module, "more_help") and not {"-h", "--help"}.isdisjoint(words):
        command.epilog = f"{module.more_help()}\n{module.EXAMPLES}"
    command.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    command.set_defaults(run=module.run, reads=getattr(module, "READS", None))


class _Parser(argparse.ArgumentParser):
    """The parser of `twinloop` itself: its help lists the commands by stage."""

    def format_help(self) -> str:
        lines = ["usage: twinloop COMMAND ...", "", "A sim-to-real data pipeline for robot learning."]
        for title, group in GROUPS.items():
            lines += ["", f"{title}:", *(f"  {name:13} {summary}" for name, summary in group.items())]
        lines += [
            "",
            "options:",
            "  --help        print this page and exit",
            "  --version     print the version and exit",
        ]
        return "\n".join([*lines, "", EXAMPLES])


class _PrintVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from twinloop import __version__

        print(f"twinloop {__version__}")
        parser.exit()


def _run(args: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console(stderr=args.json, highlight=False, soft_wrap=True)
    try:
        _fetch_datasets(args, console)
        result = args.run(args, console)
        if args.json:
            print(json.dumps(result, default=str), flush=True)
    except TwinloopError as error:
        message = _with_file(error, args)
        print(f"twinloop: {message}", file=sys.stderr)
        if args.json:
            print(json.dumps({"error": message, "exit_code": error.exit_code}))
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe. Without this, Python reports it again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return int(result.get("exit_code", 0))


def _with_file(error: TwinloopError, args: argparse.Namespace) -> str:
    """The message of an error, with the config file if the error was noticed after the file was read."""
    file = getattr(args, "config", None)
    late = isinstance(error, ConfigError) and error.where.startswith(("scene.", "cameras."))
    return f"{file}: {error}" if late and isinstance(file, Path) else str(error)


def _fetch_datasets(args: argparse.Namespace, console: "Console") -> None:
    """Replace datasets in an object store by local copies with the files that the command reads (`READS`)."""
    if args.reads == ():
        return  # the command reads from the store itself
    for name in ("dataset", "datasets"):
        value = getattr(args, name, None)
        datasets = value if isinstance(value, list) else [value]
        if all(dataset is None or isinstance(dataset, Path) for dataset in datasets):
            continue
        from twinloop.cli.fetch import brought
        from twinloop.dataset.remote.address import Remote

        local = [
            brought(dataset, console, args.reads) if isinstance(dataset, Remote) else dataset for dataset in datasets
        ]
        setattr(args, name, local if isinstance(value, list) else local[0])
