"""Return to the previous production policy at once, or to one that was live before. The ledger keeps who and why."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.registry import add_actor, add_registry, existing
from twinloop.gate.registry import Registry, writing
from twinloop.gate.store import named

EXAMPLES = """\
examples:
  twinloop rollback --because "drops the cube"
  twinloop rollback --to 3f9a2c71
  twinloop rollback --to nothing                     # nothing is live any more: robots that ask are refused
"""

NOTHING = "nothing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", default="", metavar="DIGEST", help="its first digits, or `nothing` (default: what was live before)"
    )
    parser.add_argument("--because", default="asked for", metavar="WHY", help="a sentence for the ledger")
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    left = existing(args).production
    with writing(args.registry, actor=args.by) as writer:
        if args.to == NOTHING:
            record = writer.withdraw(reasons=[args.because])
        else:
            target = named(args.registry, args.to) if args.to else ""
            record = writer.roll_back(to=target, reasons=[args.because])
    registry = Registry.open(args.registry)
    now = f"{registry.production[:12]} is live" if registry.production else "nothing is live"
    console.print(f"{now}; {left[:12]} has to show on the robot again what it can.", markup=False)
    return {"live": registry.production or None, "left": left, "record": record.digest}
