"""Calibrate the robot of a run config from its runlogs: config and logs in, patch out, no bench file.

What the logs can tell is found out first: of each joint, the quantities whose effect exceeds the noise and that no
other quantity can replace. The others are reported with the motion that would tell them (`twinloop excite`).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.calibrate.bench import Bench, at_logged_rate, expand
from twinloop.calibrate.check import Checked, check
from twinloop.calibrate.config_bench import bench_of, free_logs, read_run_logs, refuse_other_robot, refuse_without_drive
from twinloop.calibrate.fit import Fit, OnProgress, calibrate
from twinloop.calibrate.log_finding import LogFinding
from twinloop.calibrate.logs import Log
from twinloop.calibrate.patch import TwinPatch
from twinloop.calibrate.replay import replay
from twinloop.calibrate.sweep import HERE, Where
from twinloop.errors import UsageError
from twinloop.run.config import RunConfig

TOUCHED = 5.0
"""A log whose RMSE is this many times the median over all logs is left out, and the fit is repeated."""
MOST_TOUCHED = 0.5


def check_runlogs(config: RunConfig, paths: Path | Sequence[Path], *, name: str = "cell.yaml") -> tuple[Bench, Checked]:
    """Read and check runlogs. Returns the bench that they are compared in, and the logs that can be fitted.

    Args:
        paths: a runlog, a folder of runlogs, or several of them.
        name: of the config, for messages.
    """
    refuse_without_drive(config, name=name)
    given = [paths] if isinstance(paths, Path) else list(paths)
    logs = read_run_logs(given)
    for path in given:
        refuse_other_robot(config, path)
    logs = free_logs(config, logs)
    bench = at_logged_rate(bench_of(config, logs, name=name), logs)
    return bench, check(bench, logs)


def calibrate_config(
    config: RunConfig,
    paths: Path | Sequence[Path],
    *,
    seed: int,
    fit: Sequence[str] = (),
    anyway: bool = False,
    name: str = "cell.yaml",
    where: Where = HERE,
    on_progress: OnProgress | None = None,
) -> Fit:
    """Fit the drive of a config's robot to runlogs. `.patch` of the result can be applied to the config.

    Args:
        paths: a runlog, a folder of runlogs, or several of them.
        fit: fit variables: full names, a joint, or a name for all joints. Default: all that such logs may tell.
        anyway: fit logs that the check refuses.
        name: of the config, for messages.

    Raises:
        UsageError: the logs are those of another robot, or determine nothing.
        DatasetError: the logs fail their checks and `anyway` is False.
    """
    bench, checked = check_runlogs(config, paths, name=name)
    names = expand(tuple(fit), bench.variables, lambda problem: UsageError(f"fit: {problem}")) if fit else bench.fit
    if not anyway:
        checked.refuse()
    return fit_free_motion(bench, checked, names, seed=seed, where=where, on_progress=on_progress)


def fit_free_motion(
    bench: Bench,
    checked: Checked,
    names: Sequence[str],
    *,
    seed: int,
    where: Where = HERE,
    on_progress: OnProgress | None = None,
) -> Fit:
    """Fit, leave out logs in which something touched the arm, and fit the others again."""
    fitted = calibrate(bench, checked, names, seed=seed, where=where, on_progress=on_progress)
    touched = touched_logs(bench, checked.logs, fitted.patch, where=where)
    if not touched or len(touched) > MOST_TOUCHED * len(checked.logs):
        return fitted
    kept = tuple(log for log in checked.logs if log.name not in touched)
    others = replace(checked, logs=kept, findings=(*checked.findings, *touched.values()))
    return calibrate(bench, others, names, seed=seed, where=where, on_progress=on_progress)


def touched_logs(bench: Bench, logs: Sequence[Log], patch: TwinPatch, *, where: Where = HERE) -> dict[str, LogFinding]:
    """Logs whose error is far above that of the others: something else than the drive moved or held the arm."""
    replayed = replay(bench, logs, patch.values, where=where)
    touched = {}
    for channel in bench.compared:
        rmse = {log: errors[channel.name].rmse for log, errors in replayed.by_log.items()}
        usual = float(np.median(list(rmse.values())))
        for log, error in rmse.items():
            if error > TOUCHED * usual and log not in touched:
                message = f"{channel.name} is off by {error / usual:.0f} times the median of all: something touched it"
                touched[log] = LogFinding("dropped", "touched", log, message)
    return touched
