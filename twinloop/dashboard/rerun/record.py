"""Write a stored episode as a Rerun recording."""

from dataclasses import dataclass
from pathlib import Path

import rerun as rr

from twinloop.dashboard.rerun.labels import log_labels
from twinloop.dashboard.rerun.layout import layout_of
from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.pictures import log_pictures
from twinloop.dashboard.rerun.signals import log_signals
from twinloop.dashboard.rerun.space import log_space
from twinloop.dashboard.rerun.stored_episode import StoredEpisode
from twinloop.dashboard.rerun.views import log_views
from twinloop.dashboard.rerun.words import log_words
from twinloop.errors import StorageError

APPLICATION = "twinloop"


@dataclass(frozen=True)
class Recorded:
    """entities: every path in the recording. size: bytes of the file."""

    path: Path
    entities: tuple[str, ...]
    size: int


def record(episode: StoredEpisode, path: Path) -> Recorded:
    # The same episode keeps its name, so that an open viewer replaces the old recording.
    name = f"{episode.dataset.header.config_digest[:12]}-{episode.dataset.header.run_seed}-{episode.attempt}"
    stream = rr.RecordingStream(APPLICATION, recording_id=name, send_properties=False)
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None
    stream.save(path, default_blueprint=layout_of(episode))
    log = RerunLog(stream, episode.time_s)
    for write in (log_words, log_space, log_views, log_pictures, log_labels, log_signals):
        write(log, episode)
    stream.flush()
    stream.disconnect()
    return Recorded(path, tuple(log.entities), path.stat().st_size)
