"""Verify a registry from its first record: the chain of digests, the signatures, the checkpoints and the evidence.
Print every record: who decided what, when, and on which evidence. The exit code is 1 if anything was changed."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.registry import add_registry
from twinloop.errors import UsageError
from twinloop.gate.audit import audit
from twinloop.gate.ledger import LEDGER

EXAMPLES = """\
examples:
  twinloop audit
  twinloop audit --head 91c0...                      # also: is the record that you noted still there?
  twinloop audit --evidence --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--head", default="", metavar="DIGEST", help="digest of a record that you noted elsewhere")
    parser.add_argument("--evidence", action="store_true", help="list the evidence of each record with its digest")
    add_registry(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if not (args.registry / LEDGER).is_file():
        raise UsageError(f"{args.registry}: is not a registry; it has no {LEDGER}")
    result = audit(args.registry, head=args.head)
    for record in result.records:
        signed = f", signed by {record.signed_by}" if record.signed_by else ""
        console.print(f"{record.sequence}. {record.time[:19]} {record.actor}{signed}: {record.what}", markup=False)
        for reason in record.reasons:
            console.print(f"     {reason}", markup=False)
        for kind, path, digest in record.evidence if args.evidence else ():
            console.print(f"     {kind} {path} ({digest[:12]})", markup=False)
    for problem in result.problems:
        console.print(f"wrong: {problem}", markup=False)
    if not result.problems:
        signed = f"signed by {', '.join(result.keys)}" if result.keys else "not signed"
        console.print(f"ok: {len(result.records)} records, {signed}; the last is {result.head}", markup=False)
    return {
        "ok": not result.problems, "problems": list(result.problems), "keys": list(result.keys), "head": result.head,
        "records": [record.to_json() for record in result.records], "exit_code": 1 if result.problems else 0,
    }  # fmt: skip
