"""Judge simulated episodes with a curator, before they are stored.

The modules of curators are imported where there is one. Otherwise they would delay the start of every worker.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.curate.verdict import ACCEPTED, Verdicts
from twinloop.dataset.header import Header
from twinloop.dataset.reader import Dataset
from twinloop.errors import UsageError
from twinloop.observe.recording import Recording
from twinloop.twin.twin import Twin

if TYPE_CHECKING:
    from twinloop.curate.discriminator.curator import Curator


def with_curator(header: Header, file: Path) -> tuple[Header, bytes]:
    """The header of a run whose episodes a curator judges, and the content of the curator's file."""
    from twinloop.curate.discriminator.curator import refuse_misfit
    from twinloop.curate.discriminator.curator_file import curator_from_bytes, read_curator
    from twinloop.dataset.trajectories import trajectory_schema

    content = read_curator(file)
    refuse_misfit(curator_from_bytes(content, where=str(file)), trajectory_schema(header))
    return replace(header, versions={**header.versions, **version_of_curator(content)}), content


def curator_of(content: bytes | None) -> "Curator | None":
    """The curator with this file content; None for None."""
    if content is None:
        return None
    from twinloop.curate.discriminator.curator_file import curator_from_bytes

    return curator_from_bytes(content, where="--curator")


def version_of_curator(content: bytes | None) -> dict[str, str]:
    """The entry of a curator among the versions of a dataset, empty for None."""
    if content is None:
        return {}
    from twinloop.curate.discriminator.curator_file import curator_version

    return curator_version(content)


def judge_with_curator(
    verdicts: Verdicts, curator: "Curator | None", recording: Recording, success: np.ndarray, twin: Twin
) -> tuple[Verdicts, dict[str, list[str]]]:
    """Add the curator's verdict on episodes that the checks accept, and a column with its reasons in words.

    A curator that was trained on images judges those of the same cameras too. They are rendered for it, and again when
    the episode is stored. Copies are not looked for, because the verdict on an episode must not depend on others.
    """
    if curator is None:
        return verdicts, {}
    from twinloop.curate.discriminator.curator import IMPLAUSIBLE
    from twinloop.dataset.trajectories import trajectories_of

    accepted = verdicts.accepted
    scores, words = np.full(len(accepted), np.nan), [""] * len(accepted)
    reasons = list(verdicts.reasons)
    if accepted.any():
        episodes = trajectories_of(
            recording.take(accepted), (twin.robot.name, twin.control_hz), success[accepted], twin.task.name,
            cameras=tuple(curator.model.images),
        )  # fmt: skip
        result = curator.score(episodes, duplicates=False)
        for place, row in enumerate(np.flatnonzero(accepted)):
            scores[row], words[row] = result.values[place], result.reasons[place]
            if result.rejected[place]:
                reasons[row] = IMPLAUSIBLE
    measures = {**verdicts.measures, IMPLAUSIBLE: scores}
    return replace(verdicts, reasons=tuple(reasons), measures=measures), {"curator_reason": words}


def refuse_all_implausible(folder: Path, curator: Path) -> None:
    """Raise if a curator rejected every episode that the checks accepted, with the figures that show it."""
    from twinloop.curate.discriminator.curator import IMPLAUSIBLE
    from twinloop.curate.discriminator.curator_file import load_curator

    table = Dataset.open(folder).attempts()
    verdicts = table["verdict"].to_pylist()
    rejected = [row for row, verdict in enumerate(verdicts) if verdict == IMPLAUSIBLE]
    if not rejected or ACCEPTED in verdicts:
        return
    scores = table[f"check/{IMPLAUSIBLE}"].to_numpy()[rejected]
    reasons = [reason.rpartition(" (")[0] for reason in table["curator_reason"].to_pylist() if reason]
    used = load_curator(curator)
    raise UsageError(
        f"{folder}: the curator {curator} rejected all {len(rejected)} episodes that the checks accepted: the lowest "
        f"score is {scores.min():.2f}, the threshold {used.threshold:.2f}. It was trained on "
        f"{', '.join(used.card['tasks'])}; most frequent reason: {max(set(reasons), key=reasons.count)}. "
        "Train one on episodes of this config: twinloop curate DATASET"
    )
