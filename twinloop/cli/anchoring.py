"""`twinloop calibrate --by discriminator`: ranges of rows under which simulated episodes look like real ones."""

import argparse
from importlib.util import find_spec
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.config_bench import is_run_config
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError
from twinloop.run.config import load_config


def run_discriminator(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Fit ranges, write the patch and print it."""
    if find_spec("sklearn") is None:
        raise UsageError("--by discriminator needs scikit-learn; install 'twinloop[curate]'")
    if args.logs is None or not is_run_config(args.twin):
        raise UsageError("--by discriminator needs a run config as TWIN and a runlog or dataset with --logs")
    if args.executor != "local":
        raise UsageError(f"--executor {args.executor}: --by discriminator simulates on this machine")
    from twinloop.calibrate.by_discriminator import fit_by_discriminator
    from twinloop.learn.candidate import candidate_of

    with show_progress(console, "calibrating by discriminator") as show:
        fit = fit_by_discriminator(
            load_config(args.twin), [args.logs], seed=args.seed, fit=args.fit or (), simulations=args.simulations,
            candidate=None if args.policy is None else candidate_of(args.policy), name=str(args.twin),
            on_progress=lambda doing, done, total: show(Progress(done, total, doing)),
        )  # fmt: skip
    patch = fit.patch
    patch.write(args.out)
    table = Table(
        title=f"Fitted to {fit.real_episodes} episodes with {fit.simulations} simulations", title_justify="left"
    )
    for heading in ("row", "value", "proposed range", "unit"):
        table.add_column(heading, justify="left" if heading in ("row", "unit") else "right")
    for name, value in patch.fitted.items():
        table.add_row(name, f"{value.value:.4g}", f"{value.low:.4g} to {value.high:.4g}", value.unit)
    console.print(table)
    for name, unknown in patch.unknown.items():
        console.print(f"not determined: {name}: {unknown.reason}", markup=False)
    (before, before_error), (after, after_error) = fit.auc_before, fit.auc_after
    console.print(
        f"A classifier tells real from simulated episodes with an AUC of {before:.2f} ± {before_error:.2f} before and "
        f"{after:.2f} ± {after_error:.2f} after (0.5: cannot tell).", markup=False,
    )  # fmt: skip
    console.print(f"patch  {args.out}", markup=False)
    return {
        "patch": str(args.out),
        "real_episodes": fit.real_episodes,
        "simulations": fit.simulations,
        "fitted": {
            n: {"value": f.value, "low": f.low, "high": f.high, "unit": f.unit} for n, f in patch.fitted.items()
        },
        "unknown": {n: {"reason": u.reason, "reveals": u.reveals} for n, u in patch.unknown.items()},
        "randomization": {name: list(ends) for name, ends in patch.ranges.items()},
        "auc": {"before": list(fit.auc_before), "after": list(fit.auc_after)},
    }
