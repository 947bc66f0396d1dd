"""A policy with all evidence for a promotion, of which tests remove or alter a part."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.dataset.synthetic import header, run
from tests.gate.checkpoints import checkpoint
from tests.gate.made_up import evaluation_of
from tests.gate.runlogs import Trial, runlog
from twinloop.dataset import verify
from twinloop.gate import write_evaluation
from twinloop.gate.case import Canary
from twinloop.gate.promote import PromoteConfig, Promotion, promote
from twinloop.gate.registry import writing
from twinloop.gate.registry_state import Stage
from twinloop.gate.rules import RulesConfig, load_rules
from twinloop.learn.card import read_card

RULES = load_rules()
GOOD, FAIR, POOR = 0.95, 0.85, 0.5


def some(rate: float, count: int) -> np.ndarray:
    """So many of them true, spread evenly."""
    return np.diff(np.floor(np.arange(count + 1) * rate + 1e-9)) > 0


class World:
    """A folder with data, policies, evidence and a registry."""

    def __init__(self, path: Path):
        self.path = path
        self.registry = path / "registry"
        self.rules: RulesConfig = RULES
        self.canary: Canary | None = Canary("rehearsal:harsh", 0.25, 40)
        with writing(self.registry, actor="ada"):
            pass  # it exists from now on
        if not (path / "datasets" / "data").exists():
            run(path / "datasets" / "data", header())

    def policy(self, number: int = 1, **changes: Any) -> Path:
        return checkpoint(self.path / "policies" / f"p{number}", number=number, data=(self.data(),), **changes)

    def data(self, **changes: Any) -> dict[str, Any]:
        digest = verify(self.path / "datasets" / "data").digest
        return {
            "path": "data", "name": "demo", "kind": "sim", "digest": digest, "config_digest": "c0ffee", "run_seed": 7,
            "episodes": 6, "frames": 50, "weight": 1.0, "held_out": 1,
        } | changes  # fmt: skip

    def digest(self, number: int = 1) -> str:
        return read_card(self.path / "policies" / f"p{number}").digest

    def evaluated(
        self, number: int = 1, *, rate: float = GOOD, count: int = 200, seed: int = 1_000_000, twin: str = "c" * 64
    ) -> Path:
        evaluation = evaluation_of(some(rate, count), name=f"p{number}", seed=seed)
        subject = replace(evaluation.subject, checkpoint_digest=self.digest(number), config_digest=twin)
        out = self.path / "evaluations" / f"p{number}-{seed}-{twin[:2]}-{count}"
        write_evaluation(replace(evaluation, subject=subject), out)
        return out

    def runlog_of(self, number: int = 1, *, rate: float = GOOD, count: int = 30, **columns: Any) -> Path:
        """A runlog of this policy alone."""
        digest = self.digest(number)
        episodes = [Trial(digest, bool(success), columns=columns) for success in some(rate, count)]
        return runlog(self.path / "runs" / f"p{number}-{count}", episodes)

    def promote(self, number: int = 1, to: Stage | None = None, **changes: Any) -> Promotion:
        config = PromoteConfig(
            str(self.path / "policies" / f"p{number}"), self.registry, self.rules, to=to, human_ready=True,
            canary=self.canary, data=(self.path / "datasets",), actor="ada",
        )  # fmt: skip
        return promote(replace(config, **changes))

    def live(self, number: int = 1) -> None:
        """Bring the first policy to production with good evidence."""
        self.policy(number)
        promotion = self.promote(number, evaluations=(self.evaluated(number),), runlogs=(self.runlog_of(number),))
        assert promotion.reached == "production", [step.decision.sentence for step in promotion.steps]


def refused(promotion: Promotion, *rules: str) -> None:
    """Assert that it was not promoted for exactly these rules, and that the ledger has the reasons."""
    assert not promotion.promoted
    (step,) = promotion.steps
    assert tuple(finding.rule for finding in step.decision.failed) == rules
    assert all(finding.sentence for finding in step.decision.failed)
    assert step.record is not None
    assert step.record.verdict == "refused"
    assert promotion.registry.ledger.head == step.record.digest
