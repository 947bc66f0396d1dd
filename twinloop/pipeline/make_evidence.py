"""Make the evidence that a promotion lacks: evaluations, trials on a robot, and their repeats in the twin."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from twinloop.dataset import Dataset, DatasetWriter
from twinloop.dataset.layout import HEADER
from twinloop.dataset.real_episodes import CANDIDATE, CONTROL
from twinloop.errors import UsageError
from twinloop.gate import write_evaluation
from twinloop.gate.case import AGAINST, Case
from twinloop.gate.promote import Maker
from twinloop.gate.repeat import logged_trials, refuse_task, repeat
from twinloop.gate.repeats import trial_names, write_repeats
from twinloop.gate.runlog_evidence import load_runlog
from twinloop.gate.sequence import expected_trials, judge_real_trials
from twinloop.gate.statistics.sequential import TestState
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.evaluate import TrialProgress, evaluate, unseen_seed
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.twin.tasks import tasks

if TYPE_CHECKING:
    from twinloop.deploy.robot import LiveRobot
    from twinloop.deploy.session import SessionProgress

T = TypeVar("T")
Show = Callable[[str], AbstractContextManager[Callable[[T], None]]]


def evaluation_maker(
    config: RunConfig,
    name: str,
    *,
    workers: int | None,
    show: Show[T],
    progress_of: Callable[[TrialProgress], T],
) -> Maker:
    """A maker that evaluates the checkpoint and the live policy on the same draws in the twin of `config`."""

    def make(case: Case, out: Path) -> Path | None:
        twin = config.digest
        enough = any(rate.twin == twin and rate.success.trials >= _required(case) for rate in case.twins)
        compared = not case.incumbent or any(rate.twin == twin for rate in case.rivals)
        if enough and compared:
            return None
        digests = [digest for digest in (case.digest, case.incumbent) if digest]
        candidates = [replace(candidate_of(case.registry.pinned(digest).path), name=digest[:12]) for digest in digests]
        drawn = config.with_seed(unseen_seed(*candidates))
        for candidate, folder in zip(candidates, (out, out / AGAINST), strict=False):
            with show(f"Evaluating {candidate.name}") as report:
                evaluation = evaluate(
                    candidate, drawn, config_name=name, episodes=_required(case), workers=workers,
                    on_progress=lambda progress, report=report: report(progress_of(progress)),
                )  # fmt: skip
            write_evaluation(evaluation, folder)
        return out

    return make


def _required(case: Case) -> int:
    return case.rules.validated.episodes


def repeats_maker(config: RunConfig, name: str, *, show: Show[T], progress_of: Callable[[TrialProgress], T]) -> Maker:
    """A maker that repeats real trials in the twin of `config`, if the policy was evaluated there.

    Called again, it repeats the trials that were added since.
    """

    def make(case: Case, out: Path) -> Path | None:
        real = case.episodes.of(case.digest)
        real = real.take(~real.interrupted)
        subjects = [shown.evaluation.subject for shown in case.evaluations if shown.twin == config.digest]
        known = next((repeats for repeats in case.repeats if repeats.twin == config.digest), None)
        repeated = {trial.trial for trial in known.trials} if known else set()
        new = set(trial_names(real)) - repeated
        if not case.rules.production.prediction_powered or case.troubles or not subjects or not new:
            return None
        twin = twin_of(config)
        try:
            refuse_task(twin)
        except UsageError:
            return None  # trials of such a task are judged without the twin
        candidate = replace(candidate_of(case.registry.pinned(case.digest).path), name=case.digest[:12])
        # The seed of an evaluation would repeat some of its attempts.
        seen = replace(candidate, seeds=candidate.seeds | {subject.seed for subject in subjects})
        acting = ActingConfig(known.ensemble if known else subjects[0].ensemble)
        drawn = config.with_seed(known.seed if known else unseen_seed(seen))
        started = time.perf_counter()
        with show("Repeating trials in the twin") as report:
            repeats = repeat(
                candidate, drawn, logged_trials(case.runlogs, real), config_name=name, acting=acting, known=known,
                on_progress=lambda done, planned, succeeded: report(
                    progress_of(TrialProgress(planned, done, succeeded, time.perf_counter() - started))
                ),
            )  # fmt: skip
        return write_repeats(repeats, out)

    return make


class _DecidedError(Exception):
    """Ends a session once the sequential test is decided: further trials would only cost robot time."""


def runlog_maker(
    robot: "str | LiveRobot",
    *,
    attended: bool,
    show: Show[T],
    progress_of: "Callable[[SessionProgress, TestState], T]",
    task: str = "pick_and_place",
    longest_s: float | None = None,
    stop_file: Path | None = None,
    on_plan: Callable[[str], None] = lambda _: None,
) -> Maker:
    """Return a function that runs trials on the robot, candidate and live policy in turns, at the canary's speed.

    Trials end when the sequential test has an answer or the canary's episodes are used up. The same call continues a
    session that was stopped. At reduced speed an episode gets more time in proportion. Action chunks are averaged as in
    the evaluation.

    Args:
        on_plan: called once before the trials, with the number of trials to expect in words.
    """

    def make(case: Case, out: Path) -> Path | None:
        from twinloop.deploy.episode_runner import DeployConfig
        from twinloop.deploy.session import deploy

        if not case.human_ready or case.canary is None or not robot:
            return None
        # Trials start again once another policy is live.
        live = case.registry.live
        log = out.with_name(f"{out.name}-{live.record[:12] if live else 'alone'}")
        if _decided(case):
            return log if log.is_dir() else None
        policies = {CANDIDATE: case.checkpoint.path}
        if case.incumbent:
            policies[CONTROL] = case.registry.pinned(case.incumbent).path

        speed = case.canary.speed
        # An unknown task is refused by `deploy`, which lists the valid ones.
        usual_s = tasks()[task].longest_s if task in tasks() else 1.0
        ensembles = [shown.evaluation.subject.ensemble for shown in case.evaluations]
        config = DeployConfig(
            speed=speed, episode_timeout_s=longest_s or usual_s / speed, ensemble=ensembles[0] if ensembles else None
        )

        on_plan(expected_trials(case, most=case.canary.episodes))
        with show("Running trials") as report:

            def on_progress(progress: "SessionProgress") -> None:
                current = _with_log(case, log)
                report(progress_of(progress, judge_real_trials(current)))
                if progress.done % len(policies) == 0 and _decided(current):
                    raise _DecidedError

            try:
                deploy(
                    policies, robot, log, episodes=case.canary.episodes, config=config, attended=attended, task=task,
                    stop_file=stop_file, on_progress=on_progress,
                )  # fmt: skip
            except _DecidedError:
                _finish(log)
        return log

    return make


def _with_log(case: Case, log: Path) -> Case:
    """The case with the current content of the log, which this process has just written."""
    if not (log / HEADER).is_file():
        return case
    here = log.resolve()
    others = tuple(runlog for runlog in case.runlogs if runlog.path != here)
    return replace(case, runlogs=(*others, load_runlog(here, trusted=True)))


def _decided(case: Case) -> bool:
    trials = judge_real_trials(case)
    return trials.decision != "continue" and trials.trials >= case.rules.production.trials


def _finish(log: Path) -> None:
    """Finish the dataset as the end of a session does."""
    dataset = Dataset.open(log)
    with DatasetWriter.open(log, dataset.header, dataset.config_text()) as writer:
        writer.finish()
