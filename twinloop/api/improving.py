"""Diagnose a gap, plan what to collect, calibrate the twin, and run the whole loop."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from twinloop.api.arguments import (
    CheckpointLike,
    ConfigLike,
    PathOrStr,
    RunlogLike,
    executor_named,
    folder,
    folders,
    named_config,
)
from twinloop.calibrate.patch import TwinPatch
from twinloop.deploy.robot import LiveRobot
from twinloop.diagnose.plan import Plan, make_plan
from twinloop.diagnose.report import GapReport, read_report
from twinloop.fleet.executor import Executor
from twinloop.learn.candidate import candidate_of, home_config
from twinloop.pipeline.diagnose import DiagnoseConfig
from twinloop.pipeline.diagnose import diagnose as _diagnose
from twinloop.pipeline.loop import LoopConfig, LoopResult, run_loop
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.settings import Strategy
from twinloop.run.config import RunConfig, load_config


def diagnose(
    runlogs: RunlogLike | Iterable[RunlogLike],
    checkpoint: CheckpointLike,
    config: ConfigLike | None = None,
    *,
    out: PathOrStr | None = None,
    cells: int = DiagnoseConfig.cells,
    episodes: int = DiagnoseConfig.episodes,
    seed: int = DiagnoseConfig.seed,
    cache: PathOrStr = "diagnoses/banks",
    workers: int | None = None,
    executor: str | Executor = "local",
    on_progress: Callable[[int, int], None] | None = None,
) -> GapReport:
    """Find which of the eight gaps costs a policy its success on a robot, and how much.

    Args:
        runlogs: real episodes that `deploy` wrote; eight or more of this policy.
        checkpoint: the policy, or its folder.
        config: the twin. Default: the config of the training data where it is found, else the embedded cell.
        out: folder for `report.json`. Default: it is not written.
        cells: sizes at which each possible error is simulated.
        episodes: rollouts in each counterfactual cell.
        seed: of the counterfactuals.
        cache: folder in which counterfactuals are kept for the next diagnosis of the same policy.
        workers: number of processes. Default: one per core.
        executor: where the work runs: `"local"`, `"ray"`, or the name of an executor plugin.
        on_progress: called with (finished, total) counterfactual cells.

    Example:
        >>> report = tl.diagnose("runlogs/demo", "policies/demo", "cell.yaml", cells=1, episodes=2, out="diagnosis")
        >>> len(report.findings)
        8
    """
    candidate = candidate_of(folder(checkpoint))
    run_config, name = (home_config(candidate) if config is None else None) or named_config(config)
    report = _diagnose(
        list(folders(runlogs)),
        candidate,
        run_config,
        config_name=name,
        cache=Path(cache),
        settings=DiagnoseConfig(cells=cells, episodes=episodes, check_episodes=3 * episodes, seed=seed),
        workers=workers,
        executor=executor_named(executor),
        on_progress=on_progress or (lambda *_: None),
    )
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        write_json(Path(out) / "report.json", report.to_json())
    return report


def plan(report: GapReport | PathOrStr, *, robot: str = "", budget: int = 200) -> Plan:
    """Say what to randomize, calibrate and collect after a diagnosis, in order of gain per hour.

    Args:
        report: a report of `diagnose`, or the folder it is in.
        robot: the robot on which demonstrations would be collected.
        budget: the number of demonstrations that can be afforded.

    Example:
        >>> tl.plan("diagnosis", robot="twin:cell.yaml", budget=50).robot
        'twin:cell.yaml'
    """
    read = report if isinstance(report, GapReport) else read_report(Path(report))
    return make_plan(read, robot=robot, budget=budget)


def calibrate(
    bench: PathOrStr | RunConfig,
    logs: RunlogLike | Iterable[RunlogLike],
    *,
    out: PathOrStr | None = None,
    fit: Iterable[str] = (),
    anyway: bool = False,
    seed: int = 0,
    threads: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> TwinPatch:
    """Fit a twin to logs of a real robot, and return values, intervals and proposed randomization ranges.

    Args:
        bench: a run config or its file, for logs in the project's schema; or a bench file: a model, and what the
            columns of the logs mean.
        logs: runlogs or datasets of real episodes; with a bench file, a folder of logs or one log.
        out: file for the patch, for `twinloop generate --patch`. Default: it is not written.
        fit: names of the parameters to fit. Default: those that the bench file lists.
        anyway: fit logs that the check refuses.
        seed: of the search.
        threads: threads of the physics. Default: one per core, up to 16.
        on_progress: called with (activity, finished, total).

    Raises:
        UsageError: a log fails its check and `anyway` is False.

    Example:
        >>> patch = tl.calibrate("bench.yaml", "logs", fit=["resistance_ohm"], out="patch.yaml")
        >>> sorted(patch.fitted)
        ['pendulum.resistance_ohm']
        >>> tl.calibrate("cell.yaml", "runlogs/demo", fit=["joint1.delay_ms"]).drive.robot
        'franka_panda'
    """
    from twinloop.calibrate.bench import expand, load_bench, logs_of
    from twinloop.calibrate.by_population import fit_by_population
    from twinloop.calibrate.check import check
    from twinloop.calibrate.config_bench import is_run_config
    from twinloop.calibrate.fit import calibrate as fit_by_gradient
    from twinloop.calibrate.fit_config import calibrate_config
    from twinloop.calibrate.sweep import Where
    from twinloop.errors import UsageError

    where = Where(threads or min(16, os.cpu_count() or 1))
    wanted = tuple(fit)
    if isinstance(bench, RunConfig) or is_run_config(Path(bench)):
        config, name = (bench, "config") if isinstance(bench, RunConfig) else (load_config(bench), str(bench))
        fitted = calibrate_config(
            config, list(folders(logs)), seed=seed, fit=wanted, anyway=anyway, name=name, where=where,
            on_progress=on_progress,
        )  # fmt: skip
        if out is not None:
            fitted.patch.write(Path(out))
        return fitted.patch
    (path,) = folders(logs)
    rig = load_bench(Path(bench))
    names = expand(wanted, rig.variables, lambda problem: UsageError(f"fit: {problem}")) if wanted else rig.fit
    checked = check(rig, logs_of(rig, path))
    if not anyway:
        checked.refuse()
    method = fit_by_population if rig.search == "population" else fit_by_gradient
    patch = method(rig, checked, names, seed=seed, where=where, on_progress=on_progress).patch
    if out is not None:
        patch.write(Path(out))
    return patch


def loop(
    config: ConfigLike | None,
    robot: str | LiveRobot,
    out: PathOrStr | None = None,
    *,
    rounds: int = LoopConfig.rounds,
    target: float = LoopConfig.target,
    budget: int = LoopConfig.budget,
    trials: int = LoopConfig.trials,
    episodes: int = LoopConfig.episodes,
    steps: int = LoopConfig.steps,
    evaluation_episodes: int = LoopConfig.evaluation_episodes,
    strategy: Strategy = LoopConfig.strategy,
    policy: str = LoopConfig.policy,
    gated: bool = LoopConfig.gated,
    simulated: bool = LoopConfig.simulated,
    seed: int = LoopConfig.seed,
    workers: int = LoopConfig.workers,
    executor: str | Executor = "local",
    on_step: Callable[[int, str], None] | None = None,
) -> LoopResult:
    """Generate, train, gate, deploy, diagnose, re-randomize and collect, round after round.

    Called again with the same arguments, it continues. `pipeline.loop.LoopConfig` has further settings.

    Args:
        config: a config or its file. None is the embedded pick-and-place cell.
        robot: where policies are deployed, for example `"rehearsal:harsh"`, a plugin, or a live robot.
        out: the loop's folder. Default: `loops/NAME`.
        rounds: number of rounds after the first one.
        target: success rate on the robot at which the loop ends.
        budget: real demonstrations in total.
        trials: episodes on the robot in each round.
        episodes: simulated episodes in each round.
        steps: training steps of the first round.
        evaluation_episodes: episodes in which a policy is evaluated in the twin, per kind of object.
        strategy: how ranges and demonstrations are chosen: `"diagnose"`, `"adr"`, `"wide"`, `"blind"` or `"real"`.
        policy: `"mlp"`, `"act"`, `"flow"`, or the name of a policy plugin.
        gated: policies reach the robot through the gate; False only for twins and rehearsal cells.
        simulated: the robot is a twin or rehearsal cell, and no person needs to be asked.
        seed: of data and training.
        workers: number of processes, and of rehearsal cells in parallel.
        executor: where simulations run: `"local"`, `"ray"`, or the name of an executor plugin.
        on_step: called with (round, activity).

    Example:
        >>> result = tl.loop("cell.yaml", "twin:cell.yaml", "loops/demo", rounds=0, episodes=48, steps=20, trials=8,
        ...                  evaluation_episodes=8, simulated=True)
        >>> result.reached, len(result.rounds)
        (False, 1)
    """
    run_config, name = named_config(config)
    robot_name = robot if isinstance(robot, str) else type(robot).__name__
    settings = LoopConfig(
        robot=robot_name, strategy=strategy, rounds=rounds, target=target, budget=budget, trials=trials,
        episodes=episodes, steps=steps, evaluation_episodes=evaluation_episodes, policy=policy, gated=gated,
        simulated=simulated, seed=seed, workers=workers,
    )  # fmt: skip
    return run_loop(
        run_config,
        settings,
        Path(out) if out is not None else Path("loops") / name,
        executor=executor_named(executor),
        on_step=on_step or (lambda *_: None),
        robot=None if isinstance(robot, str) else robot,
    )
