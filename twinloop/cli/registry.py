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
    parser.add_argument("--by", default="", metavar="NAME", help="name for the ledger (default: the current user)")
    parser.add_argument(
        "--key", type=Path, metavar="FILE",
        help="private key that signs the record, if the ledger is signed (default: the file that TWINLOOP_KEY names)",
    )  # fmt: skip


def existing(args: argparse.Namespace) -> Registry:
    """Open the registry that `--registry` names. It must exist, so that a typo is not an empty registry."""
    if not (args.registry / "ledger.jsonl").is_file():
        raise UsageError(f"{args.registry}: is not a registry; `twinloop promote --registry DIR` creates one")
    return Registry.open(args.registry)
