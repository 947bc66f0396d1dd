"""Make the evidence in the twin that a promotion lacks: evaluations, and repeats of real trials."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from twinloop.errors import UsageError
from twinloop.gate.case import AGAINST, Case
from twinloop.gate.evaluate import TrialProgress, evaluate, unseen_seed
from twinloop.gate.evaluation import write_evaluation
from twinloop.gate.promote import Maker
from twinloop.gate.repeat import logged_trials, refuse_task, repeat
from twinloop.gate.repeats import trial_names, write_repeats
from twinloop.learn.candidate import candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of

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
        subjects = [evidence.evaluation.subject for evidence in case.evaluations if evidence.twin == config.digest]
        known = next((repeats for repeats in case.repeats if repeats.twin == config.digest), None)
        repeated = {trial.trial for trial in known.trials} if known else set()
        new = set(trial_names(real)) - repeated
        if not case.rules.production.prediction_powered or case.problems or not subjects or not new:
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
