"""The speed ceiling of a servo model must not lie below the fastest logged motion."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.selection import fastest_rad_s
from twinloop.calibrate.track import Track
from twinloop.simulate.drives import DRIVES

NO_LOAD_SPEED = "no_load_speed_rad_s"
MARGIN = 1.05
"""A servo does not reach its no-load speed under load."""


def with_speed_floor(bench: Bench, tracks: Sequence[Track]) -> Bench:
    """The bench with bounds of `no_load_speed_rad_s` that lie above the fastest logged speed of each joint."""
    variables = dict(bench.variables)
    fastest = _fastest(bench, tracks)
    for joint, speed in fastest.items():
        variable = variables.get(f"{joint}.{NO_LOAD_SPEED}")
        if variable is not None and variable.low < MARGIN * speed:
            low = MARGIN * speed
            variables[variable.name] = replace(
                variable, low=low, value=max(variable.value, low), high=max(variable.high, 2 * low)
            )
    return replace(bench, variables=variables)


def speed_ceilings(bench: Bench, tracks: Sequence[Track], values: Mapping[str, float]) -> list[str]:
    """A message for each joint that moved faster in a log than its fitted servo can."""
    if bench.drive is None:
        return []
    kind, messages = DRIVES[bench.drive.model], []
    for joint in bench.drive.joints:
        own = {
            variable.name: values.get(f"{joint}.{variable.name}", bench.variables[f"{joint}.{variable.name}"].value)
            for variable in kind.variables
        }
        for track in tracks:
            ceiling, fastest = kind.top_speed_rad_s(own, track.inputs), fastest_rad_s(bench, track).get(joint, 0.0)
            if fastest > ceiling:
                messages.append(
                    f"{joint}: the fitted servo reaches {ceiling:.3g} rad/s at most, but {track.log.name} has "
                    f"{fastest:.3g} rad/s; widen the bounds of its parameters under `drive`, or add {NO_LOAD_SPEED} "
                    "(position_servo) or torque_constant_nm_a (voltage_servo) to `fit`"
                )
                break
    return messages


def _fastest(bench: Bench, tracks: Sequence[Track]) -> dict[str, float]:
    fastest: dict[str, float] = {}
    for track in tracks:
        for joint, speed in fastest_rad_s(bench, track).items():
            fastest[joint] = max(speed, fastest.get(joint, 0.0))
    return fastest
