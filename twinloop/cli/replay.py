"""Simulate logged commands (or, without commands, the logged initial state) open loop and compare with the
measurements: error per channel and per log (worst first), beside a model of delay plus first-order lag, and with a
patch the share of measurements in its 90 % band. With a run config, a runlog is replayed in the twin that generates
data, with the patch's drive; `--twin` does so with the logs of a bench file."""

import argparse
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.apply_patch import patched
from twinloop.calibrate.band import replay_with_band
from twinloop.calibrate.bench import at_logged_rate, load_bench, logs_of
from twinloop.calibrate.check import playable
from twinloop.calibrate.config_bench import is_run_config
from twinloop.calibrate.fit_config import check_runlogs
from twinloop.calibrate.patch import load_patch, refuse_other_twin
from twinloop.calibrate.replay import Replay, replay
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.twin_replay import held_in, replay_in_twin
from twinloop.cli.arguments import count
from twinloop.dashboard.replay import write_replay_page
from twinloop.randomize.servo import NOTHING_HELD
from twinloop.run.config import load_config

WORST_LOGS = 10
MOST_COLUMNS = 4
"""Channels of which the table of logs has a column each; of more, it has the one that is furthest off."""

EXAMPLES = """\
examples:
  twinloop replay examples/xl330_bench.yaml --logs logs/bench
  twinloop replay examples/xl330_bench.yaml --patch patch.yaml --logs logs/unseen --json
  twinloop replay examples/so101_cell.yaml --patch patch.yaml --logs datasets/teleop --out replay.html
  twinloop replay cell.yaml --patch patch.yaml --logs runlogs/monday            # in the twin that generates data
  twinloop replay examples/so101_cell.yaml --twin cell.yaml --patch patch.yaml --logs datasets/teleop
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "twin", type=Path, metavar="TWIN",
        help="a run config, or a bench file: a model and the meaning of the log columns",
    )  # fmt: skip
    parser.add_argument(
        "--twin", dest="config", type=Path, metavar="FILE",
        help="with a bench file: replay in the twin of this run config, which generates data",
    )  # fmt: skip
    add_logs(parser)
    parser.add_argument("--patch", type=Path, metavar="FILE", help="patch written by `twinloop calibrate`")
    parser.add_argument("--without-patch", action="store_true", help="replay without the patch")
    parser.add_argument("--out", type=Path, metavar="PAGE", help="write a page with plots (HTML)")
    parser.add_argument(
        "--threads", type=count(1, 256), default=min(16, os.cpu_count() or 1), metavar="N",
        help="physics threads (default: one per core, up to 16)",
    )  # fmt: skip


def add_logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--logs", type=Path, required=True, metavar="DATA", help="a folder of logs, or one file")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    patch = None if args.patch is None or args.without_patch else load_patch(args.patch)
    path = args.twin if is_run_config(args.twin) else args.config
    config = None if path is None else load_config(path)
    if path == args.twin and config is not None:
        bench, checked = check_runlogs(config, args.logs, name=str(args.twin))
    else:
        bench = load_bench(args.twin)
        logs = logs_of(bench, args.logs)
        bench = at_logged_rate(bench, logs)
        checked = playable(bench, logs)
    for finding in checked.findings:
        if finding.severity == "dropped":
            console.print(f"left out: {finding}", markup=False)
    if config is not None:
        if patch is not None:
            config = patched(config, patch, name=str(args.patch), config_name=str(path))
        held_rad = NOTHING_HELD if patch is None else held_in(bench, patch.values)
        replayed = replay_in_twin(config, bench, checked.logs, held_rad=held_rad)
    elif patch is None:
        replayed = replay(bench, checked.logs, where=Where(args.threads))
    else:
        refuse_other_twin(patch, bench, name=str(args.patch))
        replayed = replay_with_band(bench, checked.logs, patch, where=Where(args.threads))
    page = write_replay_page(replayed, args.out) if args.out is not None else None
    _summarise(console, replayed, page)
    return {
        **replayed.to_json(),
        "left_out": [
            {"where": finding.where, "said": finding.message}
            for finding in checked.findings
            if finding.severity == "dropped"
        ],
        "patch": str(args.patch) if patch is not None else None,
        "page": str(page) if page is not None else None,
    }


def _print_worst_logs(console: Console, replayed: Replay) -> None:
    title = f"RMSE per log, worst first ({min(WORST_LOGS, len(replayed.by_log))} of {len(replayed.by_log)})"
    table = Table(title=title, title_justify="left")
    all_channels = len(replayed.errors) <= MOST_COLUMNS
    table.add_column("log")
    for name in replayed.errors if all_channels else ("channel that is furthest off", "its RMSE", "usual RMSE"):
        table.add_column(name, justify="left" if name.startswith("channel") else "right")
    for log in list(replayed.by_log)[:WORST_LOGS]:
        errors = {name: error.rmse for name, error in replayed.by_log[log].items()}
        if all_channels:
            table.add_row(log, *(f"{rmse:.4g}" for rmse in errors.values()))
            continue
        usual = {name: error.rmse for name, error in replayed.errors.items()}
        worst = max(errors, key=lambda name: errors[name] / max(usual[name], 1e-12))
        table.add_row(log, worst, f"{errors[worst]:.4g}", f"{usual[worst]:.4g}")
    console.print(table)


def _summarise(console: Console, replayed: Replay, page: Path | None) -> None:
    table = Table(title=f"{replayed.bench.name}: twin against {len(replayed.by_log)} logs", title_justify="left")
    rows = {name: [name, f"{e.mae:.4g}", f"{e.rmse:.4g}", f"{e.worst:.4g}", e.unit]
            for name, e in replayed.errors.items()}  # fmt: skip
    headings = ["channel", "MAE", "RMSE", "worst", "unit"]
    for heading, shares in (
        ("RMSE of delay + lag", {name: f"{error.rmse:.4g}" for name, error in replayed.delay_lag.items()}),
        ("in the 90 % band", {name: f"{100 * share:.1f} %" for name, share in replayed.coverage.items()}),
    ):
        # The twin that generates data has neither.
        if shares:
            headings.append(heading)
            for name, cells in rows.items():
                cells.append(shares.get(name, ""))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("channel", "unit") else "right")
    for cells in rows.values():
        table.add_row(*cells)
    console.print(table)
    if len(replayed.by_log) > 1:
        _print_worst_logs(console, replayed)
    if page is not None:
        console.print(f"page  {page}", markup=False)
