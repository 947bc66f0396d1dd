"""Arguments that several commands share.

The stages are imported inside the functions: parsing arguments and printing `--help` needs none of them.
"""

import argparse
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.errors import UsageError, nearest
from twinloop.fleet.executor import executor_names

if TYPE_CHECKING:
    from twinloop.calibrate.patch import TwinPatch
    from twinloop.dataset.people.consent import Consent
    from twinloop.dataset.remote.address import Remote
    from twinloop.run.config import RunConfig
    from twinloop.simulate.engine import EngineConfig

CONFIG_HELP = "a config file (default: the embedded pick-and-place cell)"


def count(least: int = 1, most: int = 1 << 30) -> Callable[[str], int]:
    """Return the argument type of a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {least} to {most} was expected")
        return value

    return parse


def config_of(args: argparse.Namespace) -> "tuple[RunConfig, str]":
    """Return the config that the arguments name, with `--seed` applied, and a short name for it."""
    from twinloop.run.config import load_config
    from twinloop.run.default import NAME, embedded_config

    if args.config is None:
        config, name = embedded_config(), NAME
    else:
        config, name = load_config(args.config), args.config.stem
    if args.seed is not None:
        config = replace(config, rollout=replace(config.rollout, seed=args.seed))
    if getattr(args, "robot_name", None) is not None:
        config, name = config.with_robot(args.robot_name), f"{name}-{args.robot_name}"
    if getattr(args, "task", None) is not None:
        config, name = config.with_task(args.task), f"{name}-{args.task}"
    return config, name


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help=CONFIG_HELP)
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), metavar="N", help="run seed (default: the config's)")
    parser.add_argument("--task", metavar="NAME", help="another task, or one of the config's tasks (`twinloop tasks`)")
    parser.add_argument(
        "--robot", dest="robot_name", metavar="NAME", help="another robot than the config's (`twinloop robots`)"
    )


def names_of(text: str, known: Collection[str], option: str) -> list[str]:
    """The names in a list with commas, all of them known; `all` is every known name."""
    if text == "all":
        return sorted(known)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"{option} {text}: {name!r} is not known; {nearest(name, known)}")
        if names.count(name) > 1:
            raise UsageError(f"{option} {text}: {name!r} is there twice; name each once")
    if not names:
        raise UsageError(f"{option} {text!r}: names with commas between them were expected, or all")
    return names


def add_patch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--patch", type=Path, metavar="FILE", help="a patch that `twinloop calibrate` wrote")
    parser.add_argument("--without-patch", action="store_true", help="ignore --patch")


def patch_of(args: argparse.Namespace) -> "TwinPatch | None":
    """Return the patch that `--patch` names, or None with `--without-patch`."""
    if args.patch is None or args.without_patch:
        return None
    from twinloop.calibrate.patch import load_patch

    return load_patch(args.patch)


def add_workers(parser: argparse.ArgumentParser, *, help: str = "number of processes (default: one per core)") -> None:
    """Add `--workers`, `--executor` and `--address`."""
    parser.add_argument("--workers", type=count(1, 100_000), metavar="N", help=help)
    parser.add_argument(
        "--executor",
        choices=executor_names(),
        default="local",
        help="where workers run: on this machine or on Ray (default: local)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="with --executor ray: address of a running cluster, or auto (default: start Ray on this machine)",
    )


def comma_separated(text: str) -> tuple[str, ...]:
    """Split an argument like NAME,NAME."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def location(text: str) -> "Path | Remote":
    """Argument type of a dataset: a folder, or an address like s3://bucket/run."""
    if "://" not in text:
        return Path(text)
    from twinloop.dataset.remote.address import place

    try:
        return place(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", choices=("cpu", "warp"), default="cpu",
        help="engine: MuJoCo on the CPU (default), or MuJoCo Warp, for GPUs (docs/gpu.md)",
    )  # fmt: skip
    parser.add_argument(
        "--device", metavar="NAME", help="device of --backend warp: cuda:0, cpu (default: a GPU if there is one)"
    )


def engine_of(args: argparse.Namespace) -> "EngineConfig":
    """Return the physics engine that `--backend` and `--device` name."""
    from twinloop.simulate.engine import EngineConfig

    if args.backend == "cpu":
        if args.device is not None:
            raise UsageError(f"--device {args.device!r}: only --backend warp has devices; add it or drop --device")
        return EngineConfig()
    from twinloop.simulate.warp_support import resolve_device

    return EngineConfig("warp", resolve_device(args.device))


def plain_name(text: str) -> str:
    """An argument that names a dataset or a robot. It becomes a folder name, so it must not be a path."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: a name of letters, digits, '_', '-' and '.' was expected; --out DIR chooses another folder"
        )
    return text


def add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=location, metavar="DATASET", help="a dataset folder, or s3://bucket/run")


def number(least: float, most: float) -> Callable[[str], float]:
    """Return the argument type of a number from `least` to `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a number from {least:g} to {most:g} was expected")
        return value

    return parse


def add_consent(parser: argparse.ArgumentParser, *, role: str) -> None:
    parser.add_argument("--participant", metavar="P", help=f"pseudonym of {role}; needs --consent")
    parser.add_argument(
        "--consent", type=Path, metavar="FILE", help="consent file of this participant (see `twinloop consent`)"
    )


def consent_of(args: argparse.Namespace) -> "Consent | None":
    """Return the consent that `--consent` names, checked against `--participant`."""
    from twinloop.dataset.people.consent import read_consent

    if (args.participant is None) != (args.consent is None):
        raise UsageError("--participant and --consent: give both; data of people is stored only with their consent")
    if args.consent is None:
        return None
    consent = read_consent(args.consent)
    if consent.participant != args.participant:
        raise UsageError(
            f"--participant {args.participant}: {args.consent} is the consent of {consent.participant}; "
            "give that participant's own consent file"
        )
    return consent


def conditions(pairs: list[str]) -> dict[str, str]:
    """Parse every `--condition NAME=VALUE`, as in light=dim."""
    parsed = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or not value:
            raise UsageError(f"--condition {pair!r}: NAME=VALUE was expected, for example light=dim")
        parsed[name] = value
    return parsed


def add_session(parser: argparse.ArgumentParser, *, seed_of: str) -> None:
    """Add the options of a session on a robot: e-stop, seed and parallel cells."""
    parser.add_argument(
        "--stop-file", type=Path, metavar="FILE", help="e-stop file: the e-stop is latched while this file exists"
    )
    parser.add_argument("--reset-stop", action="store_true", help="reset the e-stop first; check the robot before")
    parser.add_argument(
        "--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help=f"seed of {seed_of} (default 0)"
    )
    parser.add_argument(
        "--workers", type=count(1, 64), default=1, metavar="N",
        help="number of rehearsal cells or twins in parallel (default 1)",
    )  # fmt: skip
