"""Examples: a few typical and extreme episodes, with the frames that their charts need."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.attempts import Attempts, entry_of
from twinloop.dataset import Dataset
from twinloop.observe.recording import Feature

MAX_FRAMES = 160  # per episode; a chart has no room for more

STATE = "observation.state"
ENVIRONMENT = "observation.environment_state"
CONTACT = "contact"
PHASE = "phase"


@dataclass(frozen=True)
class ExampleChoice:
    """why: `typical`, `quickest`, `slowest` or `failure`."""

    attempt: int
    why: str


@dataclass(frozen=True)
class Example:
    """One episode with the frames that its charts show.

    Attributes:
        why: the reason for which it was chosen, see ExampleChoice.
        time_s: (frames,).
        channels: element name ("joint1", "gripper", "object.x", "left_finger") -> (frames,).
        joints, fingers: names among the channels.
        phase: (frames,) or None.
        drawn: drawn column -> value.
    """

    attempt: int
    why: str
    verdict: str
    duration_s: float
    time_s: np.ndarray
    channels: Mapping[str, np.ndarray]
    joints: tuple[str, ...]
    joint_unit: str
    gripper_unit: str
    fingers: tuple[str, ...]
    phase: np.ndarray | None
    drawn: Mapping[str, float]


def choose(attempts: Attempts) -> tuple[ExampleChoice, ...]:
    """A typical, the quickest and the slowest accepted episode, and a failure of the most common kind with frames."""
    accepted = np.flatnonzero(attempts.accepted & (attempts.length > 0))
    by_time = accepted[np.argsort(attempts.duration_s[accepted], kind="stable")]
    places = {"typical": 0.5, "quickest": 0.0, "slowest": 1.0}
    rows = {why: by_time[round(place * (len(by_time) - 1))] for why, place in places.items()} if len(by_time) else {}
    chosen = {int(row): why for why, row in reversed(rows.items())}  # a single episode is called typical
    choices = [ExampleChoice(int(attempts.number[row]), why) for row, why in reversed(chosen.items())]
    for verdict in attempts.verdicts():
        failed = np.flatnonzero((attempts.verdict == verdict) & (attempts.length > 0))
        if verdict != ACCEPTED and len(failed):
            return (*choices, ExampleChoice(int(attempts.number[failed[len(failed) // 2]]), "failure"))
    return tuple(choices)


def read_example(dataset: Dataset, attempts: Attempts, choice: ExampleChoice) -> Example:
    features = {feature.name: feature for feature in dataset.header.features}
    wanted = [name for name in (STATE, ENVIRONMENT, CONTACT, PHASE) if name in features]
    table = dataset.frames(entry_of(dataset, choice.attempt), ["attempt", "timestamp", *wanted])
    rows = np.flatnonzero(table["attempt"].to_numpy() == choice.attempt)
    # The last frame shows how the episode ended, so it is always kept.
    kept = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_FRAMES)).round().astype(int))
    table = table.slice(int(rows[0]), len(rows)).take(kept)
    channels: dict[str, np.ndarray] = {}
    for name in wanted:
        if name != PHASE:
            values = np.array(table[name].to_pylist(), float).reshape(len(kept), -1)
            channels |= dict(zip(_names(features[name]), values.T, strict=True))
    state = _names(features[STATE]) if STATE in features else ()
    joint_unit, _, gripper_unit = features[STATE].unit.partition("; ") if STATE in features else ("", "", "")
    row = int(np.flatnonzero(attempts.number == choice.attempt)[0])
    return Example(
        attempt=choice.attempt,
        why=choice.why,
        verdict=str(attempts.verdict[row]),
        duration_s=float(attempts.duration_s[row]),
        time_s=table["timestamp"].to_numpy().astype(float),
        channels=channels,
        joints=tuple(name for name in state if name != "gripper"),
        joint_unit=joint_unit,
        gripper_unit=gripper_unit,
        fingers=tuple(name for name in (_names(features[CONTACT]) if CONTACT in features else ()) if "finger" in name),
        phase=table[PHASE].to_numpy() if PHASE in wanted else None,
        drawn={name: float(values[row]) for name, values in attempts.draws.items() if np.isfinite(values[row])},
    )


def _names(feature: Feature) -> tuple[str, ...]:
    return feature.names or tuple(f"{feature.name}[{index}]" for index in range(feature.shape[0]))
