"""The command line: parse, call, present. One module a command; nothing is computed here.

Only the module of the command that was asked for is imported: the physics engine and the statistics take a second
or two to load, and nobody should wait for them to read a help page.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.errors import TwinloopError
from twinloop.fleet.local import dismiss, prepare

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS = {
    "generate": "from a scene file to a curated LeRobot dataset (the main job)",
    "explain": "what a config will do: resolved values, what varies, expected episodes, disk and time",
    "episode": "make one episode of a run again and look into it",
    "gallery": "a contact sheet of what the cameras see: draws, labels, or one parameter swept",
    "view": "a Rerun recording of a stored episode: cameras, labels, the cell in space and every signal",
    "info": "what is inside a dataset",
    "query": "SQL over episodes, frames and attempts",
    "verify": "recompute every digest; name what is wrong",
    "fetch": "a dataset in an object store as a folder here, with its LeRobot export",
    "merge": "join datasets of one schema",
    "report": "write the HTML report of a dataset",
    "ingest": "real recordings into a dataset: LeRobot, robomimic, CSV, JSON and NumPy logs",
    "quality": "ask the checks of recordings of a dataset: a verdict and evidence for every episode",
    "compare": "two datasets side by side: schema, rates, distributions, tracking, delay, noise, pictures",
    "train": "a policy from one or several datasets",
    "finetune": "go on training a policy on a little real data",
    "evaluate": "let a policy act in the twin and judge it, with intervals",
    "trust": "how far to trust the twin: its success rates against real ones, with intervals",
    "export": "a checkpoint as one ONNX file for a robot, checked against torch",
    "deploy": "let a policy act on a robot: safety filter, deadlines, e-stop, a log of every episode",
    "collect": "demonstrations on a robot: from an imperfect demonstrator, or from teleoperation",
    "consent": "write down what a participant agreed to, under a pseudonym",
    "forget": "remove a participant's episodes and name every checkpoint trained on them",
    "promote": "bring a policy a stage further, if the evidence is there",
    "rollback": "return to the previous production policy at once",
    "status": "what is live, since when, on what evidence",
    "monitor": "follow the live policy, and roll back when it drops",
    "diagnose": "which of eight gaps costs a policy its success on a robot, and how much",
    "plan": "a collection programme from a diagnosis, in order of gain per hour",
    "loop": "all of it, round after round, until the robot succeeds",
    "calibrate": "fit a twin to logs: values with intervals, and ranges, as a patch",
    "replay": "logged commands played in a twin, against what was measured",
    "parameters": "the table of everything a config may vary",
}

# Commands with workers of their own: these load what they need while this process loads what it needs.
WORK = {"generate": "twinloop.pipeline.produce", "evaluate": "twinloop.gate.rollouts"}

EXAMPLES = """\
examples:
  twinloop generate                                  # the embedded pick-and-place cell
  twinloop generate cell.yaml --episodes 2000 --out datasets/cell
  twinloop explain cell.yaml                         # what would happen, and how long it would take
  twinloop query datasets/cell "select verdict, count(*) from attempts group by verdict"
  twinloop verify datasets/cell --json
"""


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        return _obey(_parser(words).parse_args(words))
    finally:
        dismiss()


def _obey(args: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console(stderr=args.json, highlight=False, soft_wrap=True)
    try:
        _bring_here(args, console)
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


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="twinloop",
        description="A sim-to-real data pipeline for robot learning.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"twinloop {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in words[:1]:
            # A device is fed by one process, this one; and Ray's workers are Ray's to start.
            if name in WORK and {"--help", "warp", "--backend=warp", "ray", "--executor=ray"}.isdisjoint(words):
                prepare(WORK[name], os.cpu_count() or 1)
            module = import_module(f"twinloop.cli.{name}")
            command.description, command.epilog = module.__doc__, module.EXAMPLES
            module.add_arguments(command)
            command.add_argument("--json", action="store_true", help="print one JSON object as the last line")
            command.set_defaults(run=module.run, reads=getattr(module, "READS", None))
    return parser


def _bring_here(args: argparse.Namespace, console: "Console") -> None:
    """Datasets in an object store are read from a copy on this machine, with the files of a shard that are read."""
    if args.reads == ():
        return  # this command asks the store itself
    for name in ("dataset", "datasets"):
        given = getattr(args, name, None)
        several = given if isinstance(given, list) else [given]
        if all(each is None or isinstance(each, Path) for each in several):
            continue
        from twinloop.cli.fetch import Remote, brought

        here = [brought(each, console, args.reads) if isinstance(each, Remote) else each for each in several]
        setattr(args, name, here if isinstance(given, list) else here[0])
