"""Is there one image per row, and do the images change while the robot moves?"""

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


def still(episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for camera, film in episode.films.items():
        first, last = film.held
        held_s = (last - first) / episode.rate_hz
        if held_s < FROZEN_S or last >= episode.rows or not _moves(episode, first, last):
            continue
        text = f"{camera} shows the same image for {held_s:.1f} s while the robot moves."
        yield FROZEN_PICTURE.finding(camera, film.held, held_s, FROZEN_S, "s", text)


def _moves(episode: RecordedEpisode, first: int, last: int) -> bool:
    moving = [channel.values for channel in episode.channels if channel.feature != ACTION]
    parts = [(values[first : last + 1], values) for values in moving if np.isfinite(values).all()]
    return any(np.ptp(part) > 0.2 * np.ptp(whole) > 0 for part, whole in parts)


PICTURE_FRAMES = QualityCheck(
    name="picture_frames",
    asks="are there as many decoded images as rows?",
    find=count,
    finite=False,
    storable=False,
)
FROZEN_PICTURE = QualityCheck(
    name="frozen_picture", asks="does a camera repeat one image while the robot moves?", find=still
)
