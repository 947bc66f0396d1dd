"""Judge simulated episodes with a curator, before they are stored."""

from dataclasses import replace

import numpy as np

from twinloop.curate.discriminator.curator import IMPLAUSIBLE, Curator
from twinloop.curate.verdict import Verdicts
from twinloop.dataset.trajectories import trajectories_of
from twinloop.observe.recording import Recording
from twinloop.twin.twin import Twin


def judge_with_curator(
    verdicts: Verdicts, curator: Curator | None, recording: Recording, success: np.ndarray, twin: Twin
) -> tuple[Verdicts, dict[str, list[str]]]:
    """Add the curator's verdict on episodes that the checks accept, and a column with its reasons in words.

    A curator that was trained on images judges those of the same cameras too. They are rendered for it, and again when
    the episode is stored. Copies are not looked for, because the verdict on an episode must not depend on others.
    """
    if curator is None:
        return verdicts, {}
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
