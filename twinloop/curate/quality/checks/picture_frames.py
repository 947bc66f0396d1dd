"""Is there a picture for every row, and do pictures go on while the robot moves?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, RecordedEpisode

FROZEN_S = 1.0


def count(episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for camera, film in episode.films.items():
        if film.frames != episode.rows:
            why = f" ({film.problem})" if film.problem else ""
            text = f"{camera} has {film.frames} frames for {episode.rows} rows{why}; frames cannot be assigned to rows."
            span = (min(film.frames, episode.rows), max(film.frames, episode.rows) - 1)
            severity = "error" if film.stored else "note"
            yield PICTURE_FRAMES.finding(
                camera, span, film.frames - episode.rows, 0, "pictures", text, severity=severity
            )


def still(take: RecordedEpisode, _crowd: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for camera, film in take.films.items():
        first, last = film.held
        held_s = (last - first) / take.rate_hz
        if held_s < FROZEN_S or last >= take.rows or not _moves(take, first, last):
            continue
        said = f"{camera} shows one and the same picture for {held_s:.1f} s while the robot moves."
        yield FROZEN_PICTURE.finding(camera, film.held, held_s, FROZEN_S, "s", said)


def _moves(take: RecordedEpisode, first: int, last: int) -> bool:
    moving = [each.values for each in take.channels if each.feature != ACTION]
    parts = [(values[first : last + 1], values) for values in moving if np.isfinite(values).all()]
    return any(np.ptp(part) > 0.2 * np.ptp(whole) > 0 for part, whole in parts)


PICTURE_FRAMES = QualityCheck(
    name="picture_frames",
    asks="are there as many decoded pictures as rows?",
    find=count,
    finite=False,
    storable=False,
)
FROZEN_PICTURE = QualityCheck(
    name="frozen_picture", asks="does a camera repeat one picture while the robot moves?", find=still
)
