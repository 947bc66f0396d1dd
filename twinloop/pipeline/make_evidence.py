"""Make the evidence that a promotion lacks: evaluations in the twin, trials on a robot, their repeats in the twin."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from twinloop.dataset import Dataset, DatasetWriter
from twinloop.dataset.layout import HEADER
from twinloop.errors import UsageError
from twinloop.gate import write_evaluation
from twinloop.gate.case import AGAINST, Case
from twinloop.gate.promote import Maker
from twinloop.gate.real import CANDIDATE, CONTROL, load_runlog
from twinloop.gate.repeat import logged_trials, refuse_task, repeat
from twinloop.gate.repeats import trial_names, write_repeats
from twinloop.gate.sequence import expected_trials, standing_of_trials
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
    told: Callable[[TrialProgress], T],
) -> Maker:
    """Evaluates the checkpoint in the twin of `config`, and the live policy on the same draws, as the rules ask."""

    def make(case: Case, out: Path) -> Path | None:
        twin = config.digest
        enough = [each for each in case.twins if each.twin == twin and each.success.trials >= _asked(case)]
        met = not case.incumbent or any(each.twin == twin for each in case.rivals)
        if enough and met:
            return None
        digests = [digest for digest in (case.digest, case.incumbent) if digest]
        both = [replace(candidate_of(case.registry.pinned(digest).path), name=digest[:12]) for digest in digests]
        drawn = config.with_seed(unseen_seed(*both))
        for who, folder in zip(both, (out, out / AGAINST), strict=False):
            with show(f"evaluating {who.name}") as shown:
                found = evaluate(
                    who, drawn, config_name=name, episodes=_asked(case), workers=workers,
                    on_progress=lambda progress, shown=shown: shown(told(progress)),
                )  # fmt: skip
            write_evaluation(found, folder)
        return out

    return make


def _asked(case: Case) -> int:
    return case.rules.validated.episodes


def repeats_maker(config: RunConfig, name: str, *, show: Show[T], told: Callable[[TrialProgress], T]) -> Maker:
    """Repeats real trials in the twin of `config`, if the policy was evaluated there: with nothing else could they be
    combined. Called again, those that came since."""

    def make(case: Case, out: Path) -> Path | None:
        real = case.episodes.of(case.digest)
        real = real.take(~real.interrupted)
        shown = [each.evaluation.subject for each in case.evaluations if each.twin == config.digest]
        known = next((each for each in case.repeats if each.twin == config.digest), None)
        have = {each.trial for each in known.trials} if known else set()
        new = set(trial_names(real)) - have
        if not case.rules.production.prediction_powered or case.troubles or not shown or not new:
            return None
        twin = twin_of(config)
        try:
            refuse_task(twin)
        except UsageError:
            return None  # the trials of such a task are judged without the twin
        who = replace(candidate_of(case.registry.pinned(case.digest).path), name=case.digest[:12])
        # The same seed as that of an evaluation would repeat some of its attempts.
        seen = replace(who, seeds=who.seeds | {subject.seed for subject in shown})
        acting = ActingConfig(known.ensemble if known else shown[0].ensemble)
        drawn = config.with_seed(known.seed if known else unseen_seed(seen))
        began = time.perf_counter()
        with show("repeating trials in the twin") as tell:
            found = repeat(
                who, drawn, logged_trials(case.runlogs, real), config_name=name, acting=acting, known=known,
                on_progress=lambda done, planned, succeeded: tell(
                    told(TrialProgress(planned, done, succeeded, time.perf_counter() - began))
                ),
            )  # fmt: skip
        return write_repeats(found, out)

    return make


class _KnownError(Exception):
    """Thrown out of a session when the test has its answer: further trials would only cost robot time."""


def runlog_maker(
    robot: "str | LiveRobot",
    *,
    attended: bool,
    show: Show[T],
    told: "Callable[[SessionProgress, TestState], T]",
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
        # Once another policy is live, trials begin anew.
        live = case.registry.live
        log = out.with_name(f"{out.name}-{live.record[:12] if live else 'alone'}")
        if _known(case):
            return log if log.is_dir() else None
        policies = {CANDIDATE: case.checkpoint.path}
        if case.incumbent:
            policies[CONTROL] = case.registry.pinned(case.incumbent).path

        speed = case.canary.speed
        # deploy names the tasks it knows if this is none of them.
        usual_s = tasks()[task].longest_s if task in tasks() else 1.0
        ensembles = [each.evaluation.subject.ensemble for each in case.evaluations]
        config = DeployConfig(
            speed=speed, longest_s=longest_s or usual_s / speed, ensemble=ensembles[0] if ensembles else None
        )

        on_plan(expected_trials(case, most=case.canary.episodes))
        with show("trials") as shown:

            def on_progress(standing: "SessionProgress") -> None:
                now = _with(case, log)
                shown(told(standing, standing_of_trials(now)))
                if standing.done % len(policies) == 0 and _known(now):
                    raise _KnownError

            try:
                deploy(
                    policies, robot, log, episodes=case.canary.episodes, config=config, attended=attended, task=task,
                    stop_file=stop_file, on_progress=on_progress,
                )  # fmt: skip
            except _KnownError:
                _finish(log)
        return log

    return make


def _with(case: Case, log: Path) -> Case:
    """The case with what is in the log by now, which this process has just written."""
    if not (log / HEADER).is_file():
        return case
    here = log.resolve()
    others = tuple(each for each in case.runlogs if each.path != here)
    return replace(case, runlogs=(*others, load_runlog(here, trusted=True)))


def _known(case: Case) -> bool:
    trials = standing_of_trials(case)
    return trials.decision != "continue" and trials.trials >= case.rules.production.trials


def _finish(log: Path) -> None:
    """What the session would have done at its end."""
    dataset = Dataset.open(log)
    with DatasetWriter.open(log, dataset.header, dataset.config_text()) as writer:
        writer.finish()
