"""Inspect an MJCF or URDF file and print the mapping with which a config uses it."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from twinloop.errors import UsageError
from twinloop.twin.robot_files.inspection.proposal import Proposal, propose
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robot_parts.grippers import GRIPPERS

EXAMPLES = """\
examples:
  twinloop inspect-robot my_arm/arm.xml
  twinloop inspect-robot my_arm/arm.xml > cell.yaml        # then: twinloop explain cell.yaml
  twinloop inspect-robot urdf/arm.urdf --package my_arm_description=.
  twinloop inspect-robot ur5e.xml --gripper robotiq_2f85 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a robot as MJCF (.xml) or URDF (.urdf)")
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help="folder that the model and its meshes lie in (default: FILE's)"
    )
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="folder of a ROS package, for package:// paths",
    )
    parser.add_argument(
        "--skip-missing-meshes",
        action="store_true",
        help="leave out shapes whose mesh file or package is not there",
    )
    parser.add_argument(
        "--arm", default="", metavar="BODY", help="first body of the arm, for a model with several arms"
    )
    parser.add_argument(
        "--gripper", default="", choices=sorted(GRIPPERS), help="attach a shipped gripper (default: the model's own)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    packages = dict(_package(word) for word in args.package)
    source = ModelSource(args.file, args.root, packages, args.skip_missing_meshes)
    written: dict[str, Any] = {"urdf" if source.is_urdf else "mjcf": str(args.file)}
    if args.root:
        written["root"] = str(args.root)
    if packages:
        written["packages"] = {name: str(folder) for name, folder in packages.items()}
    if args.skip_missing_meshes:
        written["skip_missing_meshes"] = True
    proposal = propose(source, arm=args.arm, gripper=args.gripper, written=written)
    console.print(_text(args.file, proposal), markup=False, highlight=False, soft_wrap=True)
    return {
        "file": str(args.file),
        "scene": {"robot": proposal.mapping},
        "joints": [asdict(joint) for joint in proposal.joints],
        "missing": list(proposal.missing),
        "notes": list(proposal.notes),
    }


def _package(word: str) -> tuple[str, Path]:
    name, equals, folder = word.partition("=")
    if not (name and equals and folder):
        raise UsageError(f"--package {word}: NAME=DIR was expected")
    return name, Path(folder)


def _text(file: Path, proposal: Proposal) -> str:
    """The mapping as YAML, with the findings as comments, so that the output is a config file."""
    lines = [f"# Proposed for {file} by twinloop inspect-robot. Paths are relative to this file."]
    for title, items in (("missing", proposal.missing), ("note", proposal.notes)):
        lines += [f"# {title}: {item}" for item in items]
    for joint in proposal.joints:
        ends = "no limits" if joint.range is None else f"{joint.range[0]:.3g} to {joint.range[1]:.3g}"
        torque = "" if joint.torque_nm is None else f", {joint.torque_nm:g} {'N' if joint.kind == 'slide' else 'N·m'}"
        unit = "m" if joint.kind == "slide" else "rad"
        lines.append(f"# {joint.role} joint {joint.name}: {joint.kind}, {ends} {unit}, drive: {joint.drive}{torque}")
    config = {"scene": {"robot": proposal.mapping, "task": "pick_and_place"}}
    return (
        "\n".join(lines)
        + "\n"
        + yaml.dump(config, Dumper=_Flow, sort_keys=False, allow_unicode=True, width=116).rstrip()
    )


class _Flow(yaml.SafeDumper):
    """Writes lists on one line."""


_Flow.add_representer(
    list, lambda dumper, values: dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)
)
