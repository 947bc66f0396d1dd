"""OperatorInput: e-stop, keys and signals, polled in every control period and while the policy computes."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from twinloop.deploy.estop import EStop
from twinloop.deploy.keys import ABORT, ENOUGH, RESET, STOP, TAKEOVER, Keys


class EpisodeStopped(Exception):
    """The episode must end now and the robot must stop. why: name of the reason. detail: the reason in words."""

    def __init__(self, why: str, detail: str):
        super().__init__(detail)
        self.why, self.detail = why, detail


class OperatorInput:
    """Input of the operator during an episode.

    Attributes:
        interventions: number of human interventions in this episode.
        can_take_over: the takeover key passes control to the human and back; otherwise it only marks a takeover.
        human_leads: the human has taken over.
        typed: keys that were pressed before the last look.
        enough: the human has ended the episode, for example because the task is done.
        ending: name of the signal that ends the session, or "".
    """

    def __init__(self, estop: EStop, keys: Keys | None = None):
        self.estop, self.keys = estop, keys
        self.interventions = 0
        self.can_take_over = self.human_leads = self.enough = False
        self.typed = ""
        self.ending = ""

    def begin(self) -> None:
        self.interventions, self.enough, self.human_leads = 0, False, False

    def look(self) -> None:
        """Poll keys, e-stop and signals. Raise EpisodeStopped if the episode must end."""
        keys = self.typed = self.keys.pressed() if self.keys is not None else ""
        if set(STOP) & set(keys):
            self.interventions += 1
            self.estop.trip("a key in the terminal")
        for _ in range(keys.count(TAKEOVER)):
            self._take_over()
        self.enough |= bool(set(ENOUGH) & set(keys))
        if self.estop.latched:
            raise EpisodeStopped("e_stop", f"e-stop: {self.estop.reason()}")
        if self.ending:
            raise EpisodeStopped("interrupted", f"stopped by {self.ending}")
        if ABORT in keys:
            self.interventions += 1
            raise EpisodeStopped("aborted_by_human", "ended by the operator")

    def _take_over(self) -> None:
        if not self.can_take_over:
            self.interventions += 1
            return
        self.human_leads = not self.human_leads
        self.interventions += self.human_leads
        self.enough = False  # an Enter from before the takeover does not end the episode

    def ask_outcome(self) -> bool | None:
        """Return a human's judgement of the episode that has just ended: s(uccess), f(ailure), u(nknown)."""
        answers = {"s": True, "f": False, "u": None}
        while self.keys is not None and not self.ending and not self.estop.latched:
            for key in self.keys.pressed(wait_s=0.1):
                if key in answers:
                    return answers[key]
        return None

    def reset_by_hand(self) -> bool:
        """Wait until the operator resets the e-stop. Return False without a terminal or if the operator quits."""
        if self.keys is None:
            return False
        print(f"\ne-stop: {self.estop.reason()}. Check the robot. Press r to reset, q to quit.", file=sys.stderr)
        while not self.ending:
            pressed = self.keys.pressed(wait_s=0.1)
            if RESET in pressed:
                self.estop.reset()
            if not self.estop.latched:
                return True
            if "q" in pressed:
                return False
        return False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Within this context, SIGINT and SIGTERM end the episode and stop the robot; SIGUSR1 trips the e-stop.

        It does nothing outside the main thread, because signals are delivered to the main thread only.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(number: int, _: object) -> None:
            self.ending = signal.Signals(number).name

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with self.estop.on_signal():
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
