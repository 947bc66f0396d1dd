"""Rows of the latency gap: delay, jitter and loss of commands and observations."""

import numpy as np

from twinloop.randomize.parameter import Parameter, Rows


def _action_delay(rows: Rows, ids: np.ndarray, delay_ms: np.ndarray) -> None:
    # This sets the engine's delay line; `assemble` has made it long enough for the longest draw.
    rows["actuator_delay"][ids] = (delay_ms / 1000)[:, None]


LATENCY = (
    Parameter("action_delay_ms", "latency", "latency", "ms", "how late a command reaches the motors",
              0.0, (0.0, 60.0), "engineering estimate: bus, driver and network of a desk-top arm",
              (0.0, 500.0), apply=_action_delay),
    Parameter("action_jitter_ms", "latency", "latency", "ms", "deviation of that delay from period to period",
              0.0, (0.0, 10.0), "engineering estimate: schedulers without real-time priority", (0.0, 200.0)),
    Parameter("command_loss_share", "latency", "latency", "1", "share of commands that are lost; the last one holds",
              0.0, (0.0, 0.05), "engineering estimate: wireless and USB under load", (0.0, 0.9)),
    Parameter("observation_delay_ms", "latency", "latency", "ms", "how old an observation is when it is recorded",
              0.0, (0.0, 60.0), "engineering estimate: two frames of 30 a second: exposure, transfer, decoding",
              (0.0, 500.0)),
    Parameter("observation_loss_share", "latency", "latency", "1", "share of observations that repeat the one before",
              0.0, (0.0, 0.05), "engineering estimate: wireless and USB under load", (0.0, 0.9)),
)  # fmt: skip
