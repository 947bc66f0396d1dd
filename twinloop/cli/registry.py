"""Arguments that the commands of the registry share."""

import argparse
from pathlib import Path

from twinloop.errors import UsageError
from twinloop.gate.registry import Registry

DEFAULT = Path("registry")


def add_registry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--registry", type=Path, default=DEFAULT, metavar="DIR", help="folder of the registry (default: registry)"
    )


def add_actor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", default="", metavar="NAME", help="who asks, for the ledger (default: the user)")


def existing(args: argparse.Namespace) -> Registry:
    """The registry the arguments name, which must be there: a name with a typo is not an empty registry."""
    if not (args.registry / "ledger.jsonl").is_file():
        raise UsageError(f"{args.registry}: is not a registry; `twinloop promote --registry DIR` makes one")
    return Registry.open(args.registry)
