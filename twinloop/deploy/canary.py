"""Trials of a candidate on the robot, as evidence for its promotion, until the sequential test is decided."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from twinloop.dataset import Dataset, DatasetWriter
from twinloop.dataset.layout import HEADER
from twinloop.dataset.real_episodes import CANDIDATE, CONTROL
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.session import PolicySource, SessionProgress, deploy
from twinloop.gate.case import Case
from twinloop.gate.evidence_makers import Show
from twinloop.gate.permit import RegistryEntry, decided_limits
from twinloop.gate.promote import Maker
from twinloop.gate.runlog_evidence import load_runlog
from twinloop.gate.sequence import expected_trials, judge_real_trials
from twinloop.gate.statistics.sequential import TestState
from twinloop.twin.tasks import tasks

T = TypeVar("T")


class _DecidedError(Exception):
    """Ends a session once the sequential test is decided: further trials would only cost robot time."""


def runlog_maker(
    robot: str | LiveRobot,
    *,
    attended: bool,
    show: Show[T],
    progress_of: Callable[[SessionProgress, TestState], T],
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
        if not case.human_ready or case.canary is None or not robot:
            return None
        # Trials start again once another policy is live.
        live = case.registry.live
        log = out.with_name(f"{out.name}-{live.record[:12] if live else 'alone'}")
        if _decided(case):
            return log if log.is_dir() else None
        path = case.registry.path
        policies: dict[str, PolicySource] = {CANDIDATE: RegistryEntry(path, case.digest)}
        if case.incumbent:
            policies[CONTROL] = RegistryEntry(path, case.incumbent)

        speed = min(case.canary.speed, decided_limits(case.registry, case.digest).speed)
        # An unknown task is refused by `deploy`, which lists the valid ones.
        usual_s = tasks()[task].longest_s if task in tasks() else 1.0
        ensembles = [evidence.evaluation.subject.ensemble for evidence in case.evaluations]
        config = DeployConfig(
            speed=speed, episode_timeout_s=longest_s or usual_s / speed, ensemble=ensembles[0] if ensembles else None
        )

        on_plan(expected_trials(case, most=case.canary.episodes))
        with show("Running trials") as report:

            def on_progress(progress: SessionProgress) -> None:
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
