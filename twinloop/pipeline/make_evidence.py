"""Make the evidence that a promotion lacks: evaluations in the twin, trials on a robot."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from twinloop.gate import write_evaluation
from twinloop.gate.case import AGAINST, Case
from twinloop.pipeline.candidate import candidate_of
from twinloop.pipeline.config import RunConfig
from twinloop.pipeline.evaluate import TrialProgress, evaluate, unseen_seed, with_seed
from twinloop.pipeline.promote import Maker

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
    """Evaluates the checkpoint in the twin of `config`, and the live policy on the same draws, as often as rules ask."""

    def make(case: Case, out: Path) -> Path | None:
        twin = config.digest
        enough = [each for each in case.twins if each.twin == twin and each.success.trials >= _asked(case)]
        met = not case.incumbent or any(each.twin == twin for each in case.rivals)
        if enough and met:
            return None
        digests = [digest for digest in (case.digest, case.incumbent) if digest]
        both = [replace(candidate_of(case.registry.pinned(digest).path), name=digest[:12]) for digest in digests]
        drawn = with_seed(config, unseen_seed(*both))
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
