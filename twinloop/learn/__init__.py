"""Datasets -> Checkpoint: policies trained on simulated data and fine-tuned on real data."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.learn.candidate import Candidate as Candidate
    from twinloop.learn.card import Card as Card
    from twinloop.learn.checkpoint import Checkpoint as Checkpoint
    from twinloop.learn.chunks import ActingConfig as ActingConfig
    from twinloop.learn.mixture import real_share as real_share
    from twinloop.learn.optimise import TrainConfig as TrainConfig
    from twinloop.learn.policy import Policy as Policy
    from twinloop.learn.runtime import PolicyRuntime as PolicyRuntime
    from twinloop.learn.space import Space as Space
    from twinloop.learn.training_job import TrainingJob as TrainingJob

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Checkpoint": "checkpoint",
        "Card": "card",
        "Policy": "policy",
        "PolicyRuntime": "runtime",
        "TrainingJob": "training_job",
        "TrainConfig": "optimise",
        "Candidate": "candidate",
        "ActingConfig": "chunks",
        "Space": "space",
        "real_share": "mixture",
    },
)
