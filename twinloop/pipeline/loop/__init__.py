"""The loop: generate, train, gate, deploy, diagnose, collect and re-randomize, round after round."""

from twinloop.pipeline.loop.rounds import LoopConfig, LoopResult, Round, Strategy, run_loop

__all__ = ["LoopConfig", "LoopResult", "Round", "Strategy", "run_loop"]
