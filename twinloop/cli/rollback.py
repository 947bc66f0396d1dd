"""Make the previous production policy live again, or an earlier one. The ledger records who and why."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.registry import add_actor, add_registry, existing
from twinloop.gate.registry import Registry, writing
from twinloop.gate.store import named

EXAMPLES = """\
examples:
  twinloop rollback --reason "drops the cube"
  twinloop rollback --to 3f9a2c71
  twinloop rollback --robot lerobot:arm2.yaml        # on one robot of the fleet
  twinloop rollback --to nothing                     # no policy is live: robots that ask get an error
"""

NOTHING = "nothing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        default="",
        metavar="DIGEST",
        help="first digits of its digest, or `nothing` (default: the policy that was live before)",
    )
    parser.add_argument("--reason", default="requested by the user", metavar="TEXT", help="reason, for the ledger")
    parser.add_argument("--robot", default="", metavar="R", help="roll back on this robot only")
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    before = existing(args)
    left = before.live_on(args.robot) if args.robot else before.production
    with writing(args.registry, actor=args.by, key=args.key) as writer:
        if args.to == NOTHING:
            record = writer.withdraw(robot=args.robot, reasons=[args.reason])
        else:
            target = named(args.registry, args.to) if args.to else ""
            record = writer.roll_back(to=target, robot=args.robot, reasons=[args.reason])
    registry = Registry.open(args.registry)
    live = registry.live_on(args.robot) if args.robot else registry.production
    now = f"{live[:12]} is live" if live else "nothing is live"
    if args.robot:
        console.print(f"{now} on {args.robot}; other robots keep their policy.", markup=False)
    else:
        console.print(f"{now}. {left[:12]} is at stage validated again and needs new trials.", markup=False)
    return {"live": live or None, "left": left, "record": record.digest, "robot": args.robot or None}
