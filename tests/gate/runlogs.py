"""Synthetic runlogs with given outcomes, in the schema of the control loop."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tests.dataset.synthetic import header
from twinloop.dataset import DatasetWriter, Header, write_shard
from twinloop.gate.ledger import read_ledger
from twinloop.observe.recording import Feature, Recording

JOINTS = ("shoulder", "elbow")
FEATURES = (
    Feature("observation.state", "float32", (2,), JOINTS, "rad"),
    Feature("action", "float32", (2,), JOINTS, "rad"),
    Feature("phase", "int64", (1,)),
    Feature("next.reward", "float32", (1,)),
    Feature("next.done", "bool", (1,)),
    Feature("next.success", "bool", (1,)),
)
LENGTH = 20
BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAFETY = ("position", "velocity", "acceleration", "effort", "workspace", "non_finite", "force")


@dataclass(frozen=True)
class Trial:
    """One episode. state: mean joint position. columns: column -> changed value, or None to leave it out."""

    checkpoint: str
    success: bool = True
    arm: str = "candidate"
    state: float = 0.0
    columns: dict[str, Any] = field(default_factory=dict)


def in_turns(candidate: str, ours: Sequence[bool], control: str, theirs: Sequence[bool]) -> list[Trial]:
    """Candidate and control, one after the other."""
    pairs = zip(ours, theirs, strict=True)
    return [trial for a, b in pairs for trial in (Trial(candidate, bool(a)), Trial(control, bool(b), "control"))]


def runlog(
    path: Path, episodes: Sequence[Trial], *, began: datetime = BEGAN, robot: str = "rehearsal:harsh", shard: int = 64,
    source: Literal["real", "sim", "mixed"] = "real", model: str = "panda",
) -> Path:  # fmt: skip
    """Write or continue a runlog, in whole shards. A control loop has one shard per episode, which takes more time.

    The episodes were allowed by the registry in `registry/` beside the folder of the runlog, if there is one.
    """
    about = header(
        name=path.name, source=source, features=FEATURES, phases=("go",), shard_episodes=shard, episodes=len(episodes),
        keep_rejected=True, robot=model,
    )  # fmt: skip
    registry = path.parent.parent / "registry"
    records = read_ledger(registry).records
    allowed = {
        "gate/stage": "canary" if records else "ungated", "gate/decision": "d" * 64 if records else "",
        "gate/registry": records[0].digest if records else "", "robot/simulated": True, "robot/fingerprint": "f" * 64,
    }  # fmt: skip
    with DatasetWriter.open(path, about, "recorded: {}\n") as writer:
        for first, stop in writer.missing():
            parts = [(attempt, episodes[attempt]) for attempt in range(first, stop)]
            rows = [_columns(attempt, trial, about, robot, began) | allowed for attempt, trial in parts]
            rows = [row | trial.columns for row, (_, trial) in zip(rows, parts, strict=True)]
            columns = {name: [row[name] for row in rows] for name, value in rows[0].items() if value is not None}
            recording = _recording(parts, about)
            writer.commit(write_shard(writer.scratch(f"{first}"), first, stop, recording, columns, fps=about.fps))
    return path


def _recording(parts: Sequence[tuple[int, Trial]], about: Header) -> Recording:
    frames = [_frames(attempt, tried) for attempt, tried in parts]
    return Recording(
        np.array([attempt for attempt, _ in parts]), np.full(len(parts), LENGTH), ("reach",) * len(parts),
        about.features, {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]},
    )  # fmt: skip


def _frames(attempt: int, trial: Trial) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(attempt)
    state = (trial.state + rng.normal(size=(LENGTH, 2)) / 10).astype(np.float32)
    last = np.arange(LENGTH) == LENGTH - 1
    return {
        "observation.state": state, "action": state, "phase": np.zeros(LENGTH, np.int64),
        "next.reward": np.zeros(LENGTH, np.float32), "next.done": last, "next.success": last & trial.success,
    }  # fmt: skip


def _columns(attempt: int, trial: Trial, about: Header, robot: str, began: datetime) -> dict[str, Any]:
    return {
        "attempt": attempt, "task": "reach", "length": LENGTH,
        "verdict": "accepted" if trial.success else "task_failed",
        "success": trial.success, "robot_id": robot, "outcome": "success" if trial.success else "failure",
        "outcome_by": "detector", "outcome_detail": "", "duration_s": LENGTH / about.fps, "last_phase": "go",
        "failure": "", "checkpoint": trial.checkpoint, "arm": trial.arm, "interventions": 0,
        **{f"safety/{reason}": 0 for reason in SAFETY}, "deadlines_missed": 0, "participant": "",
        "condition/object": "cube" if attempt % 3 else "can",
        "recorded_at": (began + timedelta(minutes=attempt)).isoformat(),
    }  # fmt: skip
