"""Synthetic datasets in which some episodes have a participant."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.dataset.synthetic import CONFIG_TEXT, FEATURES, header, recording_of, task_of
from twinloop.dataset import DatasetWriter, ShardDraft, write_shard
from twinloop.dataset.people.consent import CONSENT_COLUMNS, PARTICIPANT, Consent
from twinloop.observe.recording import Feature

TODAY = datetime.now(UTC).date()
ADA, BO, CY = "p-xq7rk2mtwz", "P017", "participant-3"
MARK = 1234567.0
"""In every frame of an episode that is somebody's: plus the attempt."""


def consent_of(participant: str, **changes) -> Consent:
    values = {
        "purpose": "putting things away",
        "scope": ("record", "train"),
        "given_on": TODAY - timedelta(days=3),
        "expires_on": TODAY + timedelta(days=300),
    }
    return Consent(participant, **{**values, **changes})


def peopled(
    path: Path,
    who: Sequence[str],
    *,
    shard_episodes: int = 1,
    features: tuple[Feature, ...] = FEATURES,
    consents: dict[str, Consent] | None = None,
) -> str:
    """Write a dataset whose attempt i is of participant `who[i]`, or of none; return its digest."""
    consents = {name: consent_of(name) for name in who if name} | (consents or {})
    head = header(
        source="real", keep_rejected=True, shard_episodes=shard_episodes, episodes=len(who), features=features
    )
    with DatasetWriter.open(path, head, CONFIG_TEXT) as writer:
        for first, stop in writer.missing():
            writer.commit(_draft(writer.scratch(str(first)), first, stop, who, consents, features))
        return writer.finish()


def _draft(
    folder: Path, first: int, stop: int, who: Sequence[str], consents: dict[str, Consent], features: tuple[Feature, ...]
) -> ShardDraft:
    attempts = range(first, stop)
    recording = recording_of(attempts, 7, features)
    state = recording.frames["observation.state"].copy()
    for begin, length, attempt in zip(recording.starts, recording.lengths, attempts, strict=True):
        if who[attempt]:
            state[begin : begin + length] = MARK + attempt
    consent_columns = [consents[who[number]].columns() if who[number] else {} for number in attempts]
    columns = {
        "attempt": np.arange(first, stop),
        "task": [task_of(number) for number in attempts],
        "length": recording.lengths,
        "verdict": ["accepted"] * len(attempts),
        "success": [True] * len(attempts),
        "condition/light": ["dim" if number % 2 else "normal" for number in attempts],
        "interventions": list(attempts),
        **{name: [row.get(name, "") for row in consent_columns] for name in (PARTICIPANT, *CONSENT_COLUMNS)},
    }
    recording = replace(recording, frames={**recording.frames, "observation.state": state})
    return write_shard(folder, first, stop, recording, columns, fps=50)


def mentions(folder: Path, word: str) -> list[str]:
    """Files below `folder`, hidden ones too, that hold a word: in their bytes or in what their Parquet decodes to."""
    results = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        held = word.encode() in file.read_bytes()
        if file.suffix == ".parquet":
            held |= word in str(pq.read_table(file).to_pydict())
        if held:
            results.append(str(file.relative_to(folder)))
    return results


def day(text: str) -> date:
    return date.fromisoformat(text)
