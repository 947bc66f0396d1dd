"""Record that a person approves the step of a policy to canary or production. The rules say how many people must
approve before a policy acts on hardware (`canary.approvals`, `production.approvals`). Each person counts once. In a
signed ledger the person's key signs the approval, so that nobody else can give it. A rollback ends all approvals."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.registry import add_actor, add_registry, existing
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import stage_named
from twinloop.gate.store import named

EXAMPLES = """\
examples:
  twinloop approve 3f9a2c71 --to production --note "watched 20 trials"
  twinloop approve 3f9a2c71 --to canary --key ~/ada.pem
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="DIGEST", help="first digits of a checkpoint in the registry")
    parser.add_argument("--to", required=True, metavar="STAGE", help="stage: canary or production")
    parser.add_argument("--note", default="", metavar="TEXT", help="reason, for the ledger")
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    existing(args)
    digest, stage = named(args.registry, args.checkpoint), stage_named(args.to)
    with writing(args.registry, actor=args.by, key=args.key) as writer:
        record = writer.approve(digest, stage, note=args.note)
    approvals = Registry.open(args.registry).state.approvals[(digest, stage)]
    people = [approval.person for approval in approvals]
    console.print(f"{record.actor} approves {digest[:12]} for {stage}. Approvals: {', '.join(people)}.", markup=False)
    return {"checkpoint": digest, "stage": stage, "approvals": people, "record": record.digest}
