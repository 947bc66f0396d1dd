"""`training/job.json`: the settings that a training was started with, to tell a resumed training from another one."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twinloop.durable import read_bounded, replace_file, storage_errors

JOB = "job.json"
LARGEST_BYTES = 1 << 22

FLAGS = {
    "datasets": "datasets", "parent": "checkpoint", "policy": "--policy", "mix": "--mix", "inputs": "--inputs",
    "rate_hz": "--rate", "most": "--episodes", "weights": "--weights", "seed": "--seed", "every": "--every",
    "backbone": "--backbone", "train.steps": "--steps", "train.batch": "--batch", "train.accumulate": "--accumulate",
    "train.device": "--device", "train.precision": "--precision", "train.compile": "--compile",
    "train.learning_rate": "--learning-rate", "train.held_out": "--held-out", "train.frozen": "--freeze",
    "algorithm": "--algorithm", "num_envs": "--envs", "steps": "--steps", "learning_rate": "--learning-rate",
    "leash": "--leash", "noise": "--noise", "config": "config", "shards": "--shards",
}  # fmt: skip
"""Setting -> the argument of `twinloop train`, `finetune` or `reinforce` that gives it."""


def write_job(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a training to `folder`."""
    with storage_errors(folder):
        replace_file(folder / JOB, (json.dumps(settings, indent=2) + "\n").encode(), scratch=folder)


def differences(folder: Path, settings: Mapping[str, Any]) -> str:
    """Describe how `settings` differ from those in `folder`, as `was started with --steps 1000; you gave 300`.

    The result is empty if the file is missing or unreadable, or if nothing differs.
    """
    try:
        stored = dict(_flat(json.loads(read_bounded(folder / JOB, LARGEST_BYTES))))
    except (OSError, ValueError, AttributeError):
        return ""
    given = dict(_flat(json.loads(json.dumps(settings))))
    texts = [
        f"was started {_argument(name, stored.get(name))}; you gave {_value(given.get(name))}"
        for name in dict.fromkeys([*stored, *given])
        if stored.get(name) != given.get(name)
    ]
    return ", and ".join(texts)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _argument(name: str, value: Any) -> str:
    if name.startswith("settings."):
        return f"with --set {name.removeprefix('settings.')}={_value(value)}"
    flag = FLAGS.get(name, name)
    return f"without {flag}" if value in (None, [], "") else f"with {flag} {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_value(entry) for entry in value) or "none"
    if isinstance(value, str) and len(value) == 64:
        return f"{value[:12]}..."  # a digest
    return "none" if value in (None, "") else str(value)
