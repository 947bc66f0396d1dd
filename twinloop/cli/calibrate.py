"""Fit a twin to logs. Checks the logs, finds out which parameters they determine, fits those with intervals, and
compares the result with a delay plus first-order lag on logs left out of the fit. Writes a patch: values, posterior,
proposed randomization ranges and provenance."""

import argparse
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.band import replay_with_band
from twinloop.calibrate.bench import at_logged_rate, expand, load_bench, logs_of
from twinloop.calibrate.by_population import fit_by_population
from twinloop.calibrate.check import Checked, check
from twinloop.calibrate.config_bench import is_run_config
from twinloop.calibrate.fit import Fit, calibrate
from twinloop.calibrate.fit_config import check_runlogs, fit_free_motion
from twinloop.calibrate.replay import Replay
from twinloop.calibrate.sensors.static_file import is_static
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.wheels import calibrate_wheels
from twinloop.cli.arguments import add_workers, count
from twinloop.cli.films import run_films
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.senses import run_frames, run_static
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_of
from twinloop.run.config import load_config
from twinloop.run.wheels import WheelsConfig

METHODS = {"slopes": calibrate, "population": fit_by_population}

EXAMPLES = """\
examples:
  twinloop calibrate cell.yaml --logs runlogs/monday --out patch.yaml     # a run config and its runlog, no bench file
  twinloop calibrate cell.yaml --logs runlogs/monday --by discriminator   # ranges of the rows that cell.yaml varies
  twinloop calibrate examples/xl330_bench.yaml --logs logs/bench --out patch.yaml
  twinloop calibrate examples/xl330_bench.yaml --logs logs/bench --fit coulomb_nm viscous_nms_rad --out patch.yaml
  twinloop calibrate examples/so101_cell.yaml --logs datasets/teleop --holdout 4   # and test on every fourth log
  twinloop calibrate examples/so101_cell.yaml --logs datasets/teleop --check       # only look at the logs
  twinloop calibrate examples/static_sensors.yaml --logs logs/at_rest --out sensors.yaml
  twinloop calibrate examples/diff_drive.yaml --logs datasets/drive --out wheels.yaml     # wheels, odometry and lidar
  twinloop calibrate examples/kinect_scans.yaml --logs scans --out depth.yaml
  twinloop calibrate examples/cameras.yaml --frames datasets/teleop/videos --camera front --out visual.yaml
  twinloop calibrate examples/so101_cell.yaml --films datasets/teleop --camera front --out camera.yaml
  twinloop calibrate examples/so101_cell.yaml --logs datasets/teleop --executor ray --address auto
  twinloop replay examples/xl330_bench.yaml --patch patch.yaml --logs logs/unseen
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "twin", type=Path, metavar="TWIN",
        help="a run config, or a bench file (a model and the meaning of log columns), or a file of sensors at rest or "
        "of scans",
    )  # fmt: skip
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--logs", type=Path, metavar="DATA", help="a runlog, a folder of logs or scans, or one file")
    given.add_argument(
        "--frames", type=Path, metavar="DIR",
        help="videos or images of the real camera: fit the image rows of a run config, given as TWIN",
    )  # fmt: skip
    given.add_argument(
        "--films", type=Path, metavar="DATASET",
        help="a LeRobot dataset with films of a fixed camera and joint positions: find the camera's pose from the arm",
    )  # fmt: skip
    parser.add_argument(
        "--camera", metavar="NAME", help="camera of the run config or of the films (default: the first of the config)"
    )
    parser.add_argument(
        "--page", type=Path, metavar="HTML", help="with --frames or --films: page with real and simulated images"
    )
    parser.add_argument(
        "--backgrounds", type=Path, metavar="DIR",
        help="with --films: folder for pictures of the scene without what moves, one for each film",
    )  # fmt: skip
    parser.add_argument(
        "--fit", nargs="+", metavar="PARAM", help="what to fit: full names, a joint, or a name for all joints "
        "(default: `fit` in the bench file)",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=("likelihood", "discriminator"), default="likelihood",
        help="likelihood: fit the drive to logged motion (default). discriminator: fit ranges of rows of a run config "
        "until a classifier cannot tell simulated episodes from real ones",
    )  # fmt: skip
    parser.add_argument(
        "--policy", type=Path, metavar="DIR",
        help="with --by discriminator: the policy that acted in the logs (default: they are scripted demonstrations)",
    )  # fmt: skip
    parser.add_argument(
        "--simulations", type=count(32, 1_000_000), default=384, metavar="N",
        help="with --by discriminator: episodes to simulate (default: 384)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("patch.yaml"), metavar="FILE", help="default: patch.yaml")
    parser.add_argument(
        "--holdout", type=count(2, 1000), metavar="N",
        help="hold out every Nth log, fit on the others, and replay those held out",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="only check the logs; fit nothing")
    parser.add_argument("--anyway", action="store_true", help="fit logs even if the check refuses them")
    parser.add_argument(
        "--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed of the search (default 0)"
    )
    parser.add_argument(
        "--threads", type=count(1, 256), default=min(16, os.cpu_count() or 1), metavar="N",
        help="physics threads, with --executor local (default: one per core, up to 16)",
    )  # fmt: skip
    add_workers(parser, help="with --executor ray: number of workers (default: one per core)")


def where_of(args: argparse.Namespace) -> Where:
    """Return where parameter sets are simulated, from the arguments."""
    if args.executor == "local" and args.workers is not None:
        raise UsageError(f"--workers {args.workers}: belongs to --executor ray; on this machine use --threads")
    if args.executor != "local" and (args.frames or args.films or is_static(args.twin)):
        raise UsageError(f"--executor {args.executor}: only simulations of a bench can run on other machines")
    return Where(args.threads, executor_of(args.executor, args.address), args.workers)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    where = where_of(args)
    if args.backgrounds is not None and args.films is None:
        raise UsageError(f"--backgrounds {args.backgrounds}: belongs to --films")
    if args.by == "discriminator":
        from twinloop.cli.anchoring import run_discriminator

        return run_discriminator(args, console)
    if args.policy is not None:
        raise UsageError(f"--policy {args.policy}: belongs to --by discriminator")
    if args.frames is not None:
        return run_frames(args, console)
    if args.films is not None:
        return run_films(args, console)
    if is_static(args.twin):
        return run_static(args, console)
    config = load_config(args.twin) if is_run_config(args.twin) else None
    if isinstance(config, WheelsConfig):
        return _run_wheels(args, config, console)
    if config is not None:
        bench, checked = check_runlogs(config, args.logs, name=str(args.twin))
    else:
        bench = load_bench(args.twin)
        logs = logs_of(bench, args.logs)
        bench = at_logged_rate(bench, logs)
        checked = check(bench, logs)
    names = bench.fit
    if args.fit:
        names = expand(tuple(args.fit), bench.variables, lambda problem: UsageError(f"--fit {problem}"))
    _print_findings(console, checked, notes=args.check)
    if not args.anyway:
        checked.refuse()
    findings = [{"severity": f.severity, "kind": f.kind, "where": f.where, "said": f.message} for f in checked.findings]
    if args.check:
        count = len(checked.logs)
        console.print(f"{count} {'log' if count == 1 else 'logs'} can be fitted.", markup=False)
        return {"logs": len(checked.logs), "findings": findings, "delay_s": checked.delay_s}
    unseen = list(checked.logs[1 :: args.holdout]) if args.holdout else []
    checked = replace(checked, logs=tuple(log for log in checked.logs if not any(log is other for other in unseen)))
    with show_progress(console, f"calibrating {bench.name}") as show:
        fit_logs = fit_free_motion if config is not None else METHODS[bench.search]
        fit = fit_logs(
            bench, checked, names, seed=args.seed, where=where,
            on_progress=lambda doing, done, total: show(Progress(done, total, doing)),
        )  # fmt: skip
    fit.patch.write(args.out)
    _summarise(console, fit, args.out)
    patch = fit.patch
    held = replay_with_band(bench, unseen, patch, where=where) if unseen else None
    if held is not None:
        _print_held_out(console, held)
    return {
        "patch": str(args.out),
        "logs": {"fitted": list(fit.used), "held_out": list(fit.held_out)},
        "findings": findings,
        "fitted": {
            n: {"value": f.value, "low": f.low, "high": f.high, "unit": f.unit} for n, f in patch.fitted.items()
        },
        "unknown": {n: {"reason": u.reason, "reveals": u.reveals} for n, u in patch.unknown.items()},
        "randomization": {name: list(ends) for name, ends in patch.ranges.items()},
        "residual": patch.provenance.residual,
        "spread": {name: list(ends) for name, ends in patch.spread.items()},
        "delay_lag": {name: asdict(model) for name, model in patch.delay_lag.items()},
        "notes": list(patch.notes),
        "holdout": held.to_json() if held is not None else None,
    }


def _run_wheels(args: argparse.Namespace, config: WheelsConfig, console: Console) -> dict[str, Any]:
    """Fit wheels, odometry and lidar of a robot on wheels to a dataset with reference poses."""
    patch = calibrate_wheels(config, args.logs, seed=args.seed)
    patch.write(args.out)
    table = Table(title=f"Fitted to {args.logs}", title_justify="left")
    for heading in ("parameter", "value", "90 % interval", "unit"):
        table.add_column(heading, justify="left" if heading in ("parameter", "unit") else "right")
    for name, value in patch.fitted.items():
        table.add_row(name, f"{value.value:.4g}", f"{value.low:.4g} to {value.high:.4g}", value.unit)
    console.print(table)
    for name, unknown in patch.unknown.items():
        console.print(f"not determined: {name}: {unknown.reason}. It needs {unknown.reveals}.", markup=False)
    console.print(f"patch  {args.out}", markup=False)
    return {
        "patch": str(args.out),
        "fitted": {name: asdict(value) for name, value in patch.fitted.items()},
        "unknown": {name: asdict(unknown) for name, unknown in patch.unknown.items()},
        "randomization": {name: list(ends) for name, ends in patch.ranges.items()},
    }


def _print_simple_models(console: Console, fit: Fit) -> None:
    """Print the cross-validated errors of the twin and of a simple model (a delay plus a first-order lag)."""
    if not fit.patch.delay_lag:
        return
    table = Table(title="RMSE on logs left out of the fit (cross-validation)", title_justify="left")
    for heading in ("channel", "twin", "delay + lag", "delay, ms", "lag, ms"):
        table.add_column(heading, justify="left" if heading == "channel" else "right")
    for name, model in fit.patch.delay_lag.items():
        held_out = f"{model.held_out_rmse:.4g}" if model.held_out_rmse > 0 else "–"
        table.add_row(name, f"{model.twin_held_out_rmse:.4g}", held_out, f"{model.delay_ms:.0f}", f"{model.lag_ms:.0f}")
    console.print(table)


def _print_held_out(console: Console, held: Replay) -> None:
    for name, error in held.errors.items():
        covered = f", {100 * held.coverage[name]:.1f} % in the 90 % band" if name in held.coverage else ""
        simple = f" (delay + lag: {held.delay_lag[name].rmse:.4g})" if name in held.delay_lag else ""
        message = f"held out, {name}: MAE {error.mae:.4g}, RMSE {error.rmse:.4g}{simple} {error.unit}{covered}"
        console.print(message, markup=False)


def _print_findings(console: Console, checked: Checked, *, notes: bool) -> None:
    for finding in checked.findings:
        if notes or finding.severity != "note":
            console.print(f"{finding.severity}: {finding}", markup=False)


def _summarise(console: Console, fit: Fit, out: Path) -> None:
    table = Table(title=f"Fitted to {len(fit.used)} logs", title_justify="left")
    for heading in ("parameter", "value", "90 % interval", "unit"):
        table.add_column(heading, justify="left" if heading in ("parameter", "unit") else "right")
    for name, value in fit.patch.fitted.items():
        table.add_row(name, f"{value.value:.4g}", f"{value.low:.4g} to {value.high:.4g}", value.unit)
    console.print(table)
    for name, unknown in fit.patch.unknown.items():
        console.print(f"not determined: {name}: {unknown.reason}. It needs logs with {unknown.reveals}.", markup=False)
    if fit.patch.unknown and fit.patch.drive is not None:
        console.print("`twinloop excite` records motions that determine more of them.", markup=False)
    for name, residual in fit.patch.provenance.residual.items():
        console.print(f"residual of {name}: MAE {residual['mae']:.4g}, RMSE {residual['rmse']:.4g}", markup=False)
    _print_simple_models(console, fit)
    for note in fit.patch.notes:
        if note.startswith("warning: ") or "delay and a lag" in note:
            console.print(note, markup=False)
    console.print(f"patch  {out}", markup=False)
