"""Write a checkpoint as one ONNX file, checked against torch, for a robot that has no torch."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.training import need_torch
from twinloop.errors import UsageError

FILE = "policy.onnx"

EXAMPLES = """\
examples:
  twinloop export policies/first --onnx                      # policies/first/policy.onnx
  twinloop export policies/first --onnx robot/first.onnx --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a folder that train or finetune wrote")
    parser.add_argument(
        "--onnx",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help=f"write an ONNX file (default: CHECKPOINT/{FILE})",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.onnx is None:
        raise UsageError("export: the format is missing; valid: --onnx [FILE]")
    need_torch()
    from twinloop.learn.checkpoint import load
    from twinloop.learn.onnx import export_onnx

    checkpoint = load(args.checkpoint)
    file = args.checkpoint / FILE if args.onnx == Path() else args.onnx
    if file.is_dir():
        raise UsageError(f"--onnx {file}: is a folder; a file was expected, e.g. {file / FILE}")
    card = checkpoint.card
    parity = export_onnx(
        checkpoint.policy, card.space, file, card_digest=card.digest, knows_real=card.knows_real, seed=0
    )
    console.print(f"{file}: {card.policy} of {card.space.robot}, {parity.bytes / 1e6:.1f} MB", markup=False)
    console.print(
        f"ONNX Runtime and torch differ by {parity.max_abs_difference:.1e} at most in an action of {parity.samples} "
        f"situations ({parity.tolerance:g} is allowed)"
    )
    return asdict(parity) | {"path": str(parity.path)}
