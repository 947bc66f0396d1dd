"""Signals: one line per element of every numeric feature, and the phases as states."""

import numpy as np
import rerun as rr

from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.stored_episode import CLEAN, LABEL, STATE, StoredEpisode
from twinloop.observe.recording import Feature

SIGNALS, PHASE = "signals", "phase"

# Features with the same joints, each in its own colour: action, delivered command, measured and true position.
COMPARED = {
    "action": (0, 158, 115),
    "command": (230, 159, 0),
    STATE: (86, 180, 233),
    CLEAN + STATE: (204, 121, 167),
}


def log_signals(log: RerunLog, episode: StoredEpisode) -> None:
    for feature in episode.features:
        if feature.name == PHASE:
            _phases(log, episode)
        elif is_signal(feature) and feature.name in episode.frames:
            values = np.asarray(episode.frames[feature.name], float).reshape(episode.length, -1)
            for path, name, column in zip(signal_paths(feature), elements(feature), values.T, strict=True):
                log.columns(path, rr.Scalars.columns(scalars=column))
                log.static(path, _line(feature, name))


def is_signal(feature: Feature) -> bool:
    """True for numeric features; labels of a camera are shown in its image instead."""
    drawn = feature.is_picture or feature.name == PHASE or feature.name.startswith(LABEL)
    return not drawn and len(feature.shape) == 1


def elements(feature: Feature) -> tuple[str, ...]:
    if feature.shape == (1,):
        return (feature.name,)
    return feature.names or tuple(str(number) for number in range(feature.shape[0]))


def signal_paths(feature: Feature) -> tuple[str, ...]:
    root = f"{SIGNALS}/{rr.escape_entity_path_part(feature.name)}"
    if feature.shape == (1,):
        return (root,)
    return tuple(f"{root}/{rr.escape_entity_path_part(name)}" for name in elements(feature))


def _line(feature: Feature, element: str) -> rr.SeriesLines:
    short = feature.name.replace("observation.", "")
    name = short if element == feature.name else f"{short} {element}"
    mode = "Linear" if feature.dtype in ("float32", "float64") else "StepAfter"
    return rr.SeriesLines(names=name, interpolation_mode=mode, colors=COMPARED.get(feature.name))


def _phases(log: RerunLog, episode: StoredEpisode) -> None:
    """One state at every change of phase, with the dataset's names."""
    phase, names = np.asarray(episode.frames[PHASE]), episode.dataset.header.phases
    changes = np.concatenate([[0], np.flatnonzero(np.diff(phase)) + 1])
    states = [names[value] if 0 <= value < len(names) else f"phase {value}" for value in phase[changes]]
    log.columns(PHASE, rr.StateChange.columns(state=states), at=changes)
