"""ActionLoop: turns a policy's action chunks into one action per control period."""

import time
from collections.abc import Mapping

import numpy as np

from twinloop.deploy.leader import LeaderAction
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.deploy.robot import Briefing, Reading
from twinloop.learn.chunks import ActingConfig, Chunks
from twinloop.observe.estimate import ESTIMATE, NEEDED, StateEstimator, model_of
from twinloop.observe.history import HISTORY, History

ALONE = np.zeros(1, int)
RUNNING = np.ones(1, bool)
LOOK_EVERY_S = 0.01
"""The e-stop is polled at this interval during inference."""


class ActionLoop:
    """The leader of an episode that a policy runs. The episode tracker ends the episode."""

    ends_itself = False
    judged_success = None

    def __init__(self, policy: PolicyProcess, config: ActingConfig, *, lockstep: bool):
        self.policy, self._lockstep = policy, lockstep
        actions = policy.facts.space.action.shape[0]
        self._chunks = Chunks(config, width=1, horizon=policy.horizon, executed=policy.executed, actions=actions)
        # NaN: no action for this period.
        self._nothing = np.full((1, actions), np.nan)
        self._late: int | None = None
        space = policy.facts.space
        self._estimate = (
            StateEstimator(model_of(space.robot, round(space.rate_hz)), width=1, things=space.tracked_things)
            if space.estimates
            else None
        )
        self._sent = np.zeros((1, actions))
        self._history = History(space.remembered, width=1, rate_hz=space.rate_hz) if space.remembered else None

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        self._instruction, self._rng = briefing.instruction, rng
        self._chunks.begin(ALONE)
        self._late = None
        if self._estimate is not None:
            self._estimate.begin(ALONE)
        if self._history is not None:
            self._history.begin(ALONE)

    @property
    def waiting(self) -> bool:
        """Whether a request to the policy is not answered yet."""
        return self._late is not None

    def sent(self, command: np.ndarray) -> None:
        """Receive the command that was sent; the state estimator uses it."""
        self._sent = np.asarray(command, float)[None]

    def watch(self, reading: Reading) -> None:
        """Receive a reading of a period in which a human leads; the state estimator and the history use it."""
        self._features(reading)

    def resume(self) -> None:
        """Continue after a human has led. Actions that were computed before are outdated."""
        self._chunks.begin(ALONE)
        if self._late is not None:
            self._late = self.policy.horizon

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction:
        """Return the action of this period.

        Raises:
            PolicyError: in lockstep, the policy did not answer before the deadline.
        """
        began_s = time.monotonic()
        features = self._features(reading)
        if self._late is not None:
            self._late += 1
        elif len(self._chunks.due(RUNNING)):
            noise = self._rng.standard_normal(self._chunks.shape, dtype=np.float32)
            left_s = max(deadline_s - began_s, 1e-3)
            self.policy.ask(features, instruction=self._instruction, noise=noise, timeout_s=left_s)
            self._late = 0
        if self._late is not None:
            chunk = self._wait(operator, deadline_s)
            if chunk is None and self._lockstep:
                raise self.policy.lost(f"has not answered for {time.monotonic() - began_s:.1f} s")
            if chunk is None:
                self._chunks.advance(RUNNING, self._nothing)
                return LeaderAction(None, time.monotonic() - began_s)
            late, self._late = self._late, None
            if late >= len(chunk):
                # All its actions are for periods that have passed. The next period asks again.
                return LeaderAction(None, time.monotonic() - began_s)
            remaining = np.full_like(chunk, np.nan)
            remaining[: len(chunk) - late] = chunk[late:]
            self._chunks.add(ALONE, remaining[None])
        return LeaderAction(self._chunks.advance(RUNNING, self._nothing)[0], time.monotonic() - began_s)

    def _features(self, reading: Reading) -> Mapping[str, np.ndarray]:
        features = dict(reading.features)
        if self._estimate is not None:
            self._estimate.take({name: features[name][None] for name in NEEDED}, self._sent)
            features[ESTIMATE] = self._estimate.vector()[0]
        if self._history is not None:
            remembered = self.policy.facts.space.remembered
            features[HISTORY] = self._history.take({name: features[name][None] for name in remembered})[0]
        return features

    def _wait(self, operator: OperatorInput, deadline_s: float) -> np.ndarray | None:
        while True:
            left_s = deadline_s - time.monotonic()
            chunk = self.policy.answer(min(left_s, LOOK_EVERY_S))
            if chunk is not None or left_s <= 0:
                return chunk
            operator.look()
