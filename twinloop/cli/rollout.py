"""Bring the live policy to more robots of its model, in waves. Each robot of a wave first runs a few episodes under the
limits of a canary (`twinloop deploy canary`). `advance` judges them: the next wave opens, or the roll-out stops by
itself and every robot has its old policy again."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import comma_separated
from twinloop.cli.registry import add_actor, add_registry, existing
from twinloop.errors import UsageError
from twinloop.gate.rollout import advance, start_rollout, stop_rollout
from twinloop.gate.rules import load_rules

EXAMPLES = """\
examples:
  twinloop rollout start --robots lerobot:b.yaml,lerobot:c.yaml,lerobot:d.yaml --waves 1,2
  twinloop deploy canary --robot lerobot:b.yaml --episodes 5 --out runlogs/b
  twinloop rollout advance --runlog runlogs/b        # exit code 4 when the roll-out has stopped
  twinloop rollout stop --reason "new grippers arrive"
"""

STOPPED_CODE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("start", "advance", "stop"), help="action")
    parser.add_argument("--robots", default="", metavar="R,...", help="start: names of the robots, in order")
    parser.add_argument("--waves", default="", metavar="N,...", help="start: robots in each wave; the rest is the last")
    parser.add_argument(
        "--runlog", type=Path, action="append", default=[], metavar="DIR", help="advance: trials; repeatable"
    )
    parser.add_argument(
        "--reason", default="requested by the user", metavar="TEXT", help="stop: reason, for the ledger"
    )
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rules file (default: the embedded rules)")
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    existing(args)
    rules, signed = load_rules(args.rules), {"actor": args.by, "key": args.key}
    if args.action == "stop":
        record = stop_rollout(args.registry, reason=args.reason, **signed)
        console.print("The roll-out has stopped; every robot has its old policy again.", markup=False)
        return {"decision": "stopped", "record": record.digest}
    if args.action == "advance":
        result = advance(args.registry, args.runlog, rules, **signed)
        words = "; ".join(result.reasons)
        console.print(f"wave {result.wave + 1}: {result.decision}. {words}", markup=False)
        if result.next_wave:
            console.print(f"next wave: {', '.join(result.next_wave)}", markup=False)
        return {
            "decision": result.decision, "wave": result.wave, "reasons": list(result.reasons),
            "next_wave": list(result.next_wave), "exit_code": STOPPED_CODE if result.decision == "stopped" else 0,
        }  # fmt: skip
    from twinloop.deploy.robots import identify

    try:
        sizes = [int(size) for size in comma_separated(args.waves)]
    except ValueError:
        raise UsageError(f"--waves: {args.waves!r} was given; whole numbers such as 1,2,4 were expected") from None
    names = comma_separated(args.robots)
    rollout = start_rollout(args.registry, [identify(name) for name in names], sizes, rules, **signed)
    for number, wave in enumerate(rollout.waves, start=1):
        console.print(f"wave {number}: {', '.join(wave)}", markup=False)
    console.print(
        f"Each robot of wave 1 needs {rules.rollout.trials} episodes: `twinloop deploy canary`.", markup=False
    )
    return {"checkpoint": rollout.checkpoint, "waves": [list(wave) for wave in rollout.waves]}
