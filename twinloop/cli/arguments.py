"""Arguments that several commands share."""

import argparse
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.dataset.remote.address import Remote, place
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_names
from twinloop.run.config import RunConfig, load_config
from twinloop.run.default import NAME, embedded_config
from twinloop.simulate.engine import EngineConfig

if TYPE_CHECKING:
    from twinloop.calibrate.patch import TwinPatch
    from twinloop.dataset.people.consent import Consent

CONFIG_HELP = "a config file (default: the embedded pick-and-place cell)"


def count(least: int = 1, most: int = 1 << 30) -> Callable[[str], int]:
    """An argument that is a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {least} to {most} was expected")
        return value

    return parse


def config_of(args: argparse.Namespace) -> tuple[RunConfig, str]:
    """The config the arguments name, `--seed` applied, and a short name for it."""
    if args.config is None:
        config, name = embedded_config(), NAME
    else:
        config, name = load_config(args.config), args.config.stem
    if args.seed is not None:
        config = replace(config, rollout=replace(config.rollout, seed=args.seed))
    return config, name


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help=CONFIG_HELP)
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), metavar="N", help="run seed (default: the config's)")


def add_patch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--patch", type=Path, metavar="FILE", help="ranges that `twinloop calibrate` proposes")
    parser.add_argument("--without-patch", action="store_true", help="as if no --patch had been given")


def patch_of(args: argparse.Namespace) -> "TwinPatch | None":
    """The patch the arguments name, unless they say to leave it."""
    if args.patch is None or args.without_patch:
        return None
    from twinloop.calibrate.patch import load_patch

    return load_patch(args.patch)


def add_workers(parser: argparse.ArgumentParser, *, help: str = "processes (default: one a core)") -> None:
    """`--workers`, and where they run."""
    parser.add_argument("--workers", type=count(1, 100_000), metavar="N", help=help)
    parser.add_argument(
        "--executor",
        choices=executor_names(),
        default="local",
        help="where they run: on this machine, or on Ray (local)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="with --executor ray: a running cluster, or auto (default: start Ray here)",
    )


def words(text: str) -> tuple[str, ...]:
    """Of an argument like NAME,NAME."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


def location(text: str) -> Path | Remote:
    """An argument that is a dataset: a folder, or an address like s3://bucket/run."""
    try:
        return place(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", choices=("cpu", "warp"), default="cpu",
        help="engine: MuJoCo on the CPU (default), or MuJoCo Warp, for GPUs (docs/gpu.md)",
    )  # fmt: skip
    parser.add_argument("--device", metavar="NAME", help="of --backend warp: cuda:0, cpu (default: a GPU if there is)")


def engine_of(args: argparse.Namespace) -> EngineConfig:
    if args.backend == "cpu":
        if args.device is not None:
            raise UsageError(f"--device {args.device!r}: is of --backend warp; --backend cpu has none to choose")
        return EngineConfig()
    from twinloop.simulate.warp_support import resolve_device

    return EngineConfig("warp", resolve_device(args.device))


def add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=location, metavar="DATASET", help="a dataset folder, or s3://bucket/run")


def number(least: float, most: float) -> Callable[[str], float]:
    """An argument that is a number from `least` to `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a number from {least:g} to {most:g} was expected")
        return value

    return parse


def add_consent(parser: argparse.ArgumentParser, *, who: str) -> None:
    parser.add_argument("--participant", metavar="P", help=f"the pseudonym of {who}; needs --consent")
    parser.add_argument("--consent", type=Path, metavar="FILE", help="what they agreed to (twinloop consent)")


def consent_of(args: argparse.Namespace) -> "Consent | None":
    from twinloop.dataset.people.consent import read_consent

    if (args.participant is None) != (args.consent is None):
        raise UsageError("--participant and --consent: one needs the other; data of people enters only with a consent")
    if args.consent is None:
        return None
    consent = read_consent(args.consent)
    if consent.participant != args.participant:
        raise UsageError(f"--participant: {args.consent} is the consent of {consent.participant}, and of nobody else")
    return consent


def conditions(words: list[str]) -> dict[str, str]:
    """`light=dim`, as often as `--condition` was given."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or not value:
            raise UsageError(f"--condition {word!r}: NAME=VALUE was expected, as in light=dim")
        found[name] = value
    return found
