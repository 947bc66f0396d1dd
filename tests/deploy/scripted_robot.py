"""A robot that follows commands exactly and fails at scripted times."""

import time
from dataclasses import replace

import numpy as np

from tests.deploy.made_up import described
from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.errors import RobotError
from twinloop.twin.twin import Twin


class ScriptedRobot:
    """A scripted robot.

    Args:
        faults: (episode, period) -> what happens from then on in that episode.
        described_as: further fields of its Description, for example `simulated=False`.

    Attributes:
        sent: episode -> its commands, actions and "stop", in order.
    """

    def __init__(
        self, twin: Twin, *, faults: dict[tuple[int, int], str] | None = None, lockstep: bool = True,
        rate_hz: float = 25.0, success: bool | None = True, refused_connects: int = 0, **described_as: object,
    ):  # fmt: skip
        about = described(twin, id="scripted")
        self._about = replace(about, lockstep=lockstep, rate_hz=rate_hz, **described_as)  # type: ignore[arg-type]
        self._faults, self._success, self._refused = faults or {}, success, refused_connects
        self.sent: dict[int, list[object]] = {}
        self.connects = 0
        self._there = True

    def connect(self) -> Description:
        self.connects += 1
        if not self._there and self._refused > 0:
            self._refused -= 1
            raise RobotError("scripted: nobody answers")
        self._there = True
        return self._about

    def describe(self) -> Description:
        return self._about

    def begin(self, episode: int) -> Briefing:
        self._episode, self._period, self._fault = episode, 0, ""
        self.sent[episode] = []
        self._began_s = time.monotonic()
        self._position = np.array(self._about.home)
        self._frozen: Reading | None = None
        self._break()
        return Briefing("wave", {"object": "cube", "light": "normal", "human": "absent"})

    def observe(self) -> Reading:
        if self._fault == "vanishes":
            self._there = False
            raise RobotError("scripted: it is gone")
        if self._frozen is not None:
            return self._frozen
        sequence = (
            self._period if self._about.lockstep else int((time.monotonic() - self._began_s) * self._about.rate_hz)
        )
        state = self._position.astype(np.float32)
        scene = np.array([0.5, -0.15, 0.02, 1, 0, 0, 0, 0.5, 0.2, 0.0, 1, 0, 0, 0], np.float32)
        still = np.zeros(8, np.float32)
        reading = Reading(sequence, 100 + sequence / self._about.rate_hz, {
            "observation.state": state[:-1] if self._fault == "loses_joint" else state,
            "observation.velocity": still,
            "observation.effort": still,
            "observation.environment_state": scene,
        })  # fmt: skip
        if self._fault == "clock_jumps":
            return replace(reading, timestamp_s=reading.timestamp_s - 1000)
        if self._fault == "clock_stands":
            return replace(reading, timestamp_s=100 + self._fault_period / self._about.rate_hz)
        if self._fault == "freezes":
            self._frozen = reading
        return reading

    def act(self, action: np.ndarray) -> None:
        if self._fault == "is slow":
            time.sleep(1.5 / self._about.rate_hz)
        self.sent[self._episode].append(np.array(action))
        self._position = np.array(action)
        self._pass()

    def stop(self) -> None:
        self.sent[self._episode].append("stop")
        self._pass()

    def end(self) -> Outcome:
        return Outcome(self._success, "as scripted")

    def close(self) -> None:
        pass

    def _pass(self) -> None:
        self._period += 1
        self._break()

    def _break(self) -> None:
        if (self._episode, self._period) in self._faults:
            self._fault = self._faults[self._episode, self._period]
            self._fault_period = self._period
