"""Print the live policy, since when it is live and the evidence for it, the stages of other policies, and the trust in
each twin. --verify checks the ledger, every checkpoint and all evidence, and names what was changed or removed."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.registry import add_registry, existing
from twinloop.errors import UsageError
from twinloop.gate.ledger import LEDGER
from twinloop.gate.rules import load_rules
from twinloop.gate.status import Status, problems_of, status_of

EXAMPLES = """\
examples:
  twinloop status
  twinloop status --json                             # `live.path` is the checkpoint a robot is to run
  twinloop status --html                             # writes registry/status.html
  twinloop status --verify --head 91c0...            # exit code 1 when something is wrong
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", action="store_true", help="write a page, status.html, into the registry")
    parser.add_argument("--verify", action="store_true", help="check all files and list problems")
    parser.add_argument(
        "--head", default="", metavar="DIGEST", help="with --verify: digest of a ledger record that you noted elsewhere"
    )
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rules file (default: the embedded rules)")
    add_registry(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.verify:
        return _verify(args, console)
    status = status_of(existing(args), load_rules(args.rules).canary)
    _print(console, status)
    result = status.to_json()
    if args.html:
        from twinloop.dashboard.status import write_status_page

        result["page"] = str(write_status_page(status))
        console.print(f"page: {result['page']}", markup=False)
    return result


def _verify(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if not (args.registry / LEDGER).is_file():
        raise UsageError(f"{args.registry}: is not a registry; it has no {LEDGER}")
    problems = problems_of(args.registry, head=args.head)
    for problem in problems:
        console.print(f"wrong: {problem}", markup=False)
    if not problems:
        console.print("[green]ok[/] ledger, pointer, checkpoints and evidence are unchanged")
    return {"ok": not problems, "problems": list(problems), "exit_code": 1 if problems else 0}


def _print(console: Console, status: Status) -> None:
    live = status.registry.live
    table = Table(show_header=False, box=None, pad_edge=False)
    if status.live and live:
        decision = status.made_live
        table.add_row("live", f"{status.live.name} ({status.live.digest})")
        table.add_row("since", live.since)
        if decision:
            table.add_row("because", str(decision.details.get("sentence") or "; ".join(decision.reasons)))
        if status.promoted_by:
            for policy in status.promoted_by.evidence:
                table.add_row("", f"{policy['kind']} {policy['path']} ({str(policy['digest'])[:12]})")
    else:
        table.add_row("live", "nothing")
    for policy in status.policies:
        if policy is not status.live:
            table.add_row(
                policy.stage, f"{policy.name} ({policy.digest[:12]}) since {policy.since[:16]}: {policy.note}"
            )
    for digest, trust in status.twins.items():
        why = status.demoted.get(digest)
        table.add_row("twin", f"{trust.config} ({digest[:8]}): {'demoted: ' + why if why else trust.sentence}")
    table.add_row("ledger", f"{len(status.registry.ledger.records)} records, the last {status.head}")
    console.print(table)
