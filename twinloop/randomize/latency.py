"""Rows of the latency gap: delay, jitter and loss of commands and observations."""

import numpy as np

from twinloop.randomize.hooks import Command, OnCommand, Readings, Rows
from twinloop.randomize.parameter import ALL_ROBOTS, Parameter
from twinloop.randomize.uses import CellTruth


def _action_delay(rows: Rows, ids: np.ndarray, delay_ms: np.ndarray) -> None:
    # This sets the engine's delay line; `assemble` has made it long enough for the longest draw.
    rows["actuator_delay"][ids] = (delay_ms / 1000)[:, None]


def _action_jitter(command: Command, values: np.ndarray) -> None:
    jitter_ms, delay_ms = values.T
    if jitter_ms.any():
        delay_s = np.maximum(delay_ms + jitter_ms * command.noise[:, 0, 0], 0) / 1000
        command.fields["actuator_delay"][:] = np.minimum(delay_s, command.twin.longest_delay_s)[:, None]


def _command_loss(command: Command, share: np.ndarray) -> None:
    # The first command always arrives, because there is no earlier one to hold.
    lost = (command.chance < share) & (command.tick > 0)
    command.rad = np.where(lost[:, None], command.memory("received", command.rad), command.rad)
    command.remember("received", command.rad)


def _observation_delay(readings: Readings, delay_ms: np.ndarray) -> None:
    readings.delay_ms("observed", float(delay_ms))


def _observation_loss(readings: Readings, share: np.ndarray) -> None:
    readings.lose("observed", readings.noise["observed"] < share)


LATENCY = (
    Parameter("action_delay_ms", "latency", "latency", "ms", "how late a command reaches the motors",
              0.0, (0.0, 60.0),
              "17.4 to 50.2 ms from a command to the motion of a Dynamixel AX-12+ (Smith and Jivraj, 'Analysis of "
              "Robotis Dynamixel AX-12+ Actuator Latencies'); a network adds some (estimate)",
              (0.0, 500.0), apply=_action_delay, delay_line_ms=1.0, truth=CellTruth(120.0), robots=ALL_ROBOTS),
    Parameter("action_jitter_ms", "latency", "latency", "ms", "deviation of that delay from period to period",
              0.0, (0.0, 10.0),
              "USB adapters with FTDI chips hold a servo's reply for up to 16 ms by default, and reads take 15 ms "
              "(DynamixelSDK, issue 330): a deviation of 5 ms; Python adds some (estimate)",
              (0.0, 200.0),
              beside=("action_delay_ms",), on_command=OnCommand("bus", _action_jitter), delay_line_ms=4.0,
              truth=CellTruth(15.0), robots=ALL_ROBOTS),
    Parameter("command_loss_share", "latency", "latency", "1", "share of commands that are lost; the last one holds",
              0.0, (0.0, 0.05),
              "DeXtreme's automatic randomization begins with commands that are late with a probability of 0 to 0.05",
              (0.0, 0.9),
              on_command=OnCommand("bus", _command_loss), truth=CellTruth(0.1), robots=ALL_ROBOTS),
    Parameter("observation_delay_ms", "latency", "latency", "ms", "how old an observation is when it is recorded",
              0.0, (0.0, 60.0),
              "Stereolabs states 30 to 45 ms for its ZED camera at 60 frames/s, and 66 to 100 ms at 30 frames/s",
              (0.0, 500.0), truth=CellTruth(80.0), on_reading=_observation_delay, robots=ALL_ROBOTS),
    Parameter("observation_loss_share", "latency", "latency", "1", "share of observations that repeat the one before",
              0.0, (0.0, 0.05),
              "DeXtreme's automatic randomization begins with poses that are late with a probability of 0 to 0.05",
              (0.0, 0.9),
              truth=CellTruth(0.1), on_reading=_observation_loss, robots=ALL_ROBOTS),
)  # fmt: skip
