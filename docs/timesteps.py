"""Tables of docs/benchmarks.md: what the step of the physics and the integrator change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

DEFAULT_INTEGRATOR = "implicitfast"
DEFAULT_MS, REFERENCE_MS = 4.0, 1.0
NEAR_MM, DEEPER = 1.0, 1.5

Row = Mapping[str, Any]


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    settings = results["settings"]
    usual = next(row for row in settings if (row["timestep_ms"], row["integrator"]) == (DEFAULT_MS, DEFAULT_INTEGRATOR))
    steps = sorted(
        (row for row in settings if row["integrator"] == DEFAULT_INTEGRATOR), key=lambda row: row["timestep_ms"]
    )
    others = [row for row in settings if row["integrator"] != DEFAULT_INTEGRATOR]
    return {
        "TIMESTEP_STEPS": "\n".join(
            _replays(steps, usual, first="step", name=lambda row: f"{row['timestep_ms']:g} ms")
        ),
        "TIMESTEP_INTEGRATORS": "\n".join(
            _replays(
                others, usual, first="integrator", name=lambda row: f"{row['integrator']}, {row['timestep_ms']:g} ms"
            )
        ),
        "TIMESTEP_EXPERT": "\n".join(_experts(steps)),
        "TIMESTEP_FINDINGS": "\n".join(_findings(steps, usual)),
        "TIMESTEP_POLICIES": "\n".join(_policies(results["policies"])),
    }


def _replays(rows: Sequence[Row], usual: Row, *, first: str, name: Callable[[Row], str]) -> Iterator[str]:
    yield f"| {first} | speed | joints (mrad) | object (mm) | object at the end (mm) | finger force (N) |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        replay = row["replay"]
        columns = ("joints_mrad", "object_mm", "object_at_end_mm", "finger_force_n")
        speed = usual["cpu_ms_per_period"] / row["cpu_ms_per_period"]
        yield f"| {name(row)} | {speed:.2f} | {' | '.join(_mean(replay[column]) for column in columns)} |"


def _experts(rows: Sequence[Row]) -> Iterator[str]:
    yield "| step | accepted | same verdict as 1 ms | duration (s) | hardest contact (N) | deepest contact (mm) |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        expert = row["expert"]
        means = (_mean(expert[column]) for column in ("duration_s", "hardest_contact_n", "deepest_contact_mm"))
        rates = (_rate(expert[column]) for column in ("accepted", "same_verdict"))
        yield f"| {row['timestep_ms']:g} ms | {' | '.join((*rates, *means))} |"


def _findings(steps: Sequence[Row], usual: Row) -> Iterator[str]:
    """Up to which step something holds. All smaller steps fulfil it too."""
    reference = next(row for row in steps if row["timestep_ms"] == REFERENCE_MS)["expert"]["deepest_contact_mm"]["mean"]
    depth = {row["timestep_ms"]: row["expert"]["deepest_contact_mm"]["mean"] / reference for row in steps}
    limits: dict[str, Callable[[Row], bool]] = {
        f"The object stays within {NEAR_MM:g} mm of the reference (mean over episodes)": (
            lambda row: row["replay"]["object_mm"]["mean"] <= NEAR_MM
        ),
        f"Contacts are at most {DEEPER:g} times as deep as in the reference": (
            lambda row: depth[row["timestep_ms"]] <= DEEPER
        ),
        "All verdicts of the expert's episodes agree": lambda row: row["expert"]["same_verdict"]["rate"] == 1,
    }
    for claim, holds in limits.items():
        within = list(takewhile(holds, steps))
        yield f"- {claim} up to {within[-1]['timestep_ms']:g} ms." if within else f"- {claim} at no step."
    for row in steps:
        if row["timestep_ms"] > usual["timestep_ms"]:
            speed = usual["cpu_ms_per_period"] / row["cpu_ms_per_period"]
            step = row["timestep_ms"]
            faster = f"{speed:.2f} times as fast as {usual['timestep_ms']:g} ms"
            yield f"- {step:g} ms is {faster}; contacts are {depth[step]:.1f} times as deep as in the reference."


def _policies(rows: Sequence[Row]) -> Iterator[str]:
    yield "| trained on | evaluated on | success |"
    yield "|---|---|---|"
    for row in rows:
        yield f"| {row['trained_ms']:g} ms | {row['judged_ms']:g} ms | {_rate(row)} |"


def _mean(value: Mapping[str, float]) -> str:
    return f"{value['mean']:.3g} ({value['low']:.3g}–{value['high']:.3g})"


def _rate(value: Mapping[str, float]) -> str:
    return f"{100 * value['rate']:.1f} % ({100 * value['low']:.1f}–{100 * value['high']:.1f})"
