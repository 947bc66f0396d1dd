"""OperatorInput: e-stop, keys and signals, polled in every control period and while the policy computes."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from twinloop.deploy.estop import EStop
from twinloop.deploy.keys import ABORT, ENOUGH, RESET, STOP, TAKEOVER, Keys


class EpisodeStopped(Exception):
    """This episode is to end now, the robot stopped. why: as a name that can be counted. detail: in words."""

    def __init__(self, why: str, detail: str):
        super().__init__(detail)
        self.why, self.detail = why, detail


class OperatorInput:
    """interventions: how often a human stepped in, in this episode. enough: one who leads says that it is done."""

    def __init__(self, estop: EStop, keys: Keys | None = None):
        self.estop, self.keys = estop, keys
        self.interventions = 0
        self.enough = False
        self.ending = ""

    def begin(self) -> None:
        self.interventions, self.enough = 0, False

    def look(self) -> None:
        """Nothing, or EpisodeStopped."""
        keys = self.keys.pressed() if self.keys is not None else ""
        if set(STOP) & set(keys):
            self.interventions += 1
            self.estop.trip("a key in the terminal")
        self.interventions += keys.count(TAKEOVER)
        self.enough |= bool(set(ENOUGH) & set(keys))
        if self.estop.latched:
            raise EpisodeStopped("e_stop", f"e-stop: {self.estop.reason()}")
        if self.ending:
            raise EpisodeStopped("interrupted", f"stopped by {self.ending}")
        if ABORT in keys:
            self.interventions += 1
            raise EpisodeStopped("aborted_by_human", "a human ended it")

    def ask_outcome(self) -> bool | None:
        """What a human says of the episode that has just ended: s(uccess), f(ailure), u(nknown)."""
        answers = {"s": True, "f": False, "u": None}
        while self.keys is not None and not self.ending and not self.estop.latched:
            for key in self.keys.pressed(wait_s=0.1):
                if key in answers:
                    return answers[key]
        return None

    def reset_by_hand(self) -> bool:
        """Wait for somebody at the terminal who resets the e-stop; False where nobody is, or they want to end."""
        if self.keys is None:
            return False
        print(f"\ne-stop: {self.estop.reason()}. Look at the robot; then r resets it, q ends.", file=sys.stderr)
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
        """SIGINT and SIGTERM end the episode meanwhile, with the robot stopped; SIGUSR1 trips the e-stop.

        Signals come to the main thread of a process; elsewhere there are none to look after.
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
