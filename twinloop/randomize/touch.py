"""Rows of the touch sensors. They change the recording, never the physics."""

import numpy as np

from twinloop.randomize.hooks import Readings
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.sensing import drift


def _noise(readings: Readings, noise_n: np.ndarray) -> None:
    readings.add("touch", noise_n * readings.noise["touch"])


def _threshold(readings: Readings, least_n: np.ndarray) -> None:
    readings.threshold("touch", float(least_n))


def _step(readings: Readings, step_n: np.ndarray) -> None:
    readings.round("touch", float(step_n))


def _drift(readings: Readings, drift_n: np.ndarray) -> None:
    readings.add("touch", drift(readings, drift_n, "touch_drift"))


def _gain_error(readings: Readings, error: np.ndarray) -> None:
    readings.multiply("touch", 1 + error * readings.noise["touch_gain"])


def _dead(readings: Readings, share: np.ndarray) -> None:
    readings.silence("touch", readings.noise["touch_chance"] < share)


TOUCH = (
    Parameter("touch_noise_n", "sensing", "sensing", "N", "white noise of every taxel",
              0.0, (0.0, 0.05), "±2 % repeatability of a part (Interlink FSR 400 data sheet), of 2.5 N",
              (0.0, 10.0), only_with=("touch",), on_reading=_noise),
    Parameter("touch_threshold_n", "sensing", "sensing", "N", "force below which a taxel tells nothing",
              0.0, (0.0, 0.2), "force-sensing resistors act from about 0.2 N (Interlink FSR 400 data sheet)",
              (0.0, 20.0), only_with=("touch",), on_reading=_threshold),
    Parameter("touch_step_n", "sensing", "sensing", "N", "smallest step a taxel tells its force in",
              0.0, (0.0, 0.05),
              "XELA's uSkin resolves 0.1 gf, 1 mN; resistive taxels with 8 to 10 bit of 10 N are coarser (estimate)",
              (0.0, 10.0), only_with=("touch",),
              on_reading=_step),
    Parameter("touch_drift_n", "sensing", "sensing", "N", "offset of every taxel, and its drift in ten seconds",
              0.0, (0.0, 0.1), "less than 5 % per decade of time (Interlink FSR 400 data sheet), of 2 N", (0.0, 10.0),
              only_with=("touch",), on_reading=_drift),
    Parameter("touch_gain_error", "sensing", "sensing", "1", "deviation of the taxels' gains from one another",
              0.0, (0.0, 0.15),
              "±6 % (one deviation) from part to part in a batch (Interlink FSR 400 data sheet); more across "
              "batches (estimate)", (0.0, 1.0),
              only_with=("touch",), on_reading=_gain_error),
    Parameter("touch_dead_share", "sensing", "sensing", "1", "share of taxels that are dead and tell 0",
              0.0, (0.0, 0.1), "engineering estimate: worn traces and connectors", (0.0, 1.0), only_with=("touch",),
              on_reading=_dead),
)  # fmt: skip
