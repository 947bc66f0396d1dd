"""The loop: generate, train, gate, deploy, diagnose, collect and re-randomize, round after round."""

from twinloop.deploy.questions import WaitingError
from twinloop.pipeline.loop.record import LoopResult, Round
from twinloop.pipeline.loop.rounds import run_loop
from twinloop.pipeline.loop.settings import LoopConfig, Strategy

__all__ = ["LoopConfig", "LoopResult", "Round", "Strategy", "WaitingError", "run_loop"]
