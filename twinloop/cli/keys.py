"""Sign the ledger, so that somebody who can write its folder cannot forge an approval. `create` writes a private key
(Ed25519) that only you can read. `trust` adds a public key to the ledger; the first one must be your own, and from then
on every promotion and approval must be signed. `TWINLOOP_KEY` names the key file that commands sign with."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.registry import add_actor, add_registry, existing
from twinloop.errors import UsageError
from twinloop.gate.registry import writing
from twinloop.gate.signing import create_key, key_from_environment, load_key, trusted_keys

EXAMPLES = """\
examples:
  twinloop keys create ~/ada.pem                     # prints the public key
  twinloop keys trust ada --key ~/ada.pem            # sign the ledger from now on
  twinloop keys trust bob --public MCow... --key ~/ada.pem
  twinloop keys list
  twinloop keys revoke bob --key ~/ada.pem
"""

ACTIONS = ("create", "trust", "revoke", "list")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, help="action")
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="file of the new key, or name of its owner")
    parser.add_argument("--public", default="", metavar="TEXT", help="public key, as `create` printed it")
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action != "list" and not args.name:
        needed = "the path of the new key file" if args.action == "create" else "the name of the key's owner"
        raise UsageError(f"keys {args.action}: {needed} is missing")
    if args.action == "create":
        signer = create_key(Path(args.name).expanduser())
        console.print(f"private key: {args.name} (keep it to yourself)\npublic key: {signer.public}", markup=False)
        return {"file": args.name, "public": signer.public, "key": signer.id}
    registry = existing(args)
    if args.action == "list":
        keys = sorted(trusted_keys(registry.ledger.records).values(), key=lambda key: key.since)
        for key in keys:
            console.print(f"{key.name}  {key.id}  since record {key.since}", markup=False)
        if not keys:
            console.print("The ledger is not signed.", markup=False)
        return {"keys": [{"name": key.name, "key": key.id, "public": key.public} for key in keys]}
    with writing(args.registry, actor=args.by, key=args.key) as writer:
        if args.action == "revoke":
            record = writer.revoke_key(args.name)
        else:
            signer = load_key(args.key) if args.key is not None else key_from_environment()
            public = args.public or (signer.public if signer is not None else "")
            if not public:
                raise UsageError("keys trust: give the public key with --public, or your own key with --key FILE")
            record = writer.add_key(signer, args.name, public)
    console.print(f"{record.details['name']} ({record.details['key']}): {record.verdict}", markup=False)
    return {"name": args.name, "key": record.details["key"], "verdict": record.verdict}
