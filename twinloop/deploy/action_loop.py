"""ActionLoop: a policy's answers as one action a control period: chunks, temporal ensembling, and what comes late."""

import time
from collections.abc import Mapping

import numpy as np

from twinloop.deploy.leader import Thought
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.deploy.robot import Briefing, Reading
from twinloop.learn.chunks import ActingConfig, Chunks
from twinloop.observe.estimate import ESTIMATE, NEEDED, StateEstimator, model_of

ALONE = np.zeros(1, int)
RUNNING = np.ones(1, bool)
LOOK_EVERY_S = 0.01
"""While a policy thinks, the e-stop is still looked at."""


class ActionLoop:
    """A Leader. It does not know when it is done, and says nothing of how it went."""

    ends_itself = False
    said = None

    def __init__(self, policy: PolicyProcess, config: ActingConfig, *, lockstep: bool):
        self.policy, self._lockstep = policy, lockstep
        actions = policy.facts.space.action.shape[0]
        self._chunks = Chunks(config, width=1, horizon=policy.horizon, executed=policy.executed, actions=actions)
        # Where nothing was said, nothing is meant.
        self._nothing = np.full((1, actions), np.nan)
        self._late: int | None = None
        space = policy.facts.space
        self._estimate = (
            StateEstimator(model_of(space.robot, round(space.rate_hz)), width=1) if space.estimates else None
        )
        self._sent = np.zeros((1, actions))

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        self._instruction, self._rng = briefing.instruction, rng
        self._chunks.begin(ALONE)
        self._late = None
        if self._estimate is not None:
            self._estimate.begin(ALONE)

    @property
    def waiting(self) -> bool:
        """Has it been asked something that it has not answered?"""
        return self._late is not None

    def sent(self, command: np.ndarray) -> None:
        """What has become of its action: an estimate goes by it."""
        self._sent = np.asarray(command, float)[None]

    def act(self, reading: Reading, attention: OperatorInput, deadline_s: float) -> Thought:
        """What to do now. A policy that has all the time there is and does not answer is given up: PolicyError."""
        began_s = time.monotonic()
        features = self._made_out(reading)
        if self._late is not None:
            self._late += 1
        elif len(self._chunks.due(RUNNING)):
            noise = self._rng.standard_normal(self._chunks.shape, dtype=np.float32)
            left_s = max(deadline_s - began_s, 1e-3)
            self.policy.ask(features, instruction=self._instruction, noise=noise, timeout_s=left_s)
            self._late = 0
        if self._late is not None:
            chunk = self._wait(attention, deadline_s)
            if chunk is None and self._lockstep:
                raise self.policy.lost(f"has not answered for {time.monotonic() - began_s:.1f} s")
            if chunk is None:
                self._chunks.advance(RUNNING, self._nothing)
                return Thought(None, time.monotonic() - began_s)
            # What it says of periods that are past comes too late.
            said = np.full_like(chunk, np.nan)
            said[: len(chunk) - self._late] = chunk[self._late :]
            self._chunks.add(ALONE, said[None])
            self._late = None
        return Thought(self._chunks.advance(RUNNING, self._nothing)[0], time.monotonic() - began_s)

    def _made_out(self, reading: Reading) -> Mapping[str, np.ndarray]:
        if self._estimate is None:
            return reading.features
        self._estimate.take({name: reading.features[name][None] for name in NEEDED}, self._sent)
        return {**reading.features, ESTIMATE: self._estimate.vector()[0]}

    def _wait(self, attention: OperatorInput, deadline_s: float) -> np.ndarray | None:
        while True:
            left_s = deadline_s - time.monotonic()
            chunk = self.policy.answer(min(left_s, LOOK_EVERY_S))
            if chunk is not None or left_s <= 0:
                return chunk
            attention.look()
