"""Write the JSON Schema of a file, for completion and checks in editors and for other programs."""

import argparse
import json
from typing import Any

from rich.console import Console

from twinloop.calibrate.bench_file import bench_schema
from twinloop.calibrate.patch import patch_schema
from twinloop.calibrate.sensors.static_file import static_schema
from twinloop.dataset.header import dataset_schema
from twinloop.dataset.ingest.mapping_file import mapping_schema
from twinloop.dataset.people.consent import consent_schema
from twinloop.deploy.schemas import cell_schema, limits_schema, plan_schema, robot_schema
from twinloop.gate.rules.config import rules_schema
from twinloop.learn.card import card_schema
from twinloop.run.config import run_schema
from twinloop.run.walk import walk_schema
from twinloop.run.wheels import wheels_schema

EXAMPLES = """\
examples:
  twinloop schema > run.schema.json
  twinloop schema rules > rules.schema.json
Then begin a config with:  # yaml-language-server: $schema=run.schema.json
"""

SCHEMAS = {
    "run": run_schema,
    "walk": walk_schema,
    "wheels": wheels_schema,
    "rules": rules_schema,
    "cell": cell_schema,
    "robot": robot_schema,
    "mapping": mapping_schema,
    "bench": bench_schema,
    "static": static_schema,
    "patch": patch_schema,
    "limits": limits_schema,
    "plan": plan_schema,
    "consent": consent_schema,
    "dataset": dataset_schema,
    "card": card_schema,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", choices=sorted(SCHEMAS), default="run", help="which file (default: run)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    schema = SCHEMAS[args.kind]()
    console.print(json.dumps(schema, indent=1, ensure_ascii=False), markup=False, highlight=False, soft_wrap=True)
    return schema
