"""Compares two datasets: contents, distributions, tracking and response of joints, noise, and appearance of images."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.curate.quality import RecordedEpisode
from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset
from twinloop.dataset.ingest.units import factor, spelled
from twinloop.dataset.layout import SHARDS
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.people.consent import require_consent
from twinloop.dataset.pictures import video_file
from twinloop.dataset.review import recorded_episodes
from twinloop.dataset.video import read_frames
from twinloop.diagnose.picture_gap import PictureGap, cropped, picture_gap, sample_pictures
from twinloop.errors import DatasetError
from twinloop.observe.recording import PREFIX
from twinloop.run.config import RunConfig
from twinloop.signals import (
    Appearance,
    Distance,
    MotionStatistics,
    NoiseEstimate,
    Response,
    TrackingError,
    appearance,
    distance,
    motion,
    noise_floor,
    response,
    tracking,
)
from twinloop.signals.picture_features import Extractor, picture_features
from twinloop.signals.response import Hold

if TYPE_CHECKING:
    from twinloop.diagnose.picture_rows import PictureExplanation

MAX_EPISODES = 200
MAX_RESPONSE_ROWS = 3000
FILMED_EPISODES, FILMED_FRAMES = 6, 4
NOT_COMPARED = ("observation.environment_state",)


@dataclass(frozen=True)
class DatasetSide:
    """One of the two datasets.

    Attributes:
        rate_hz, measured_hz: declared rate, and rate of the recorded clock.
        episodes: number of accepted episodes; of stored ones if none is accepted.
        read: number of episodes that were read.
        seconds: duration of the episodes that were read.
        features: name -> type, shape and unit.
    """

    path: str
    name: str
    source: str
    robot: str
    rate_hz: float
    measured_hz: float
    episodes: int
    read: int
    seconds: float
    features: Mapping[str, str]


@dataclass(frozen=True)
class ChannelComparison:
    """Comparison of one channel. Pairs are (ours, theirs).

    Attributes:
        unit: unit of the first dataset, to which the second was converted.
        caution: a limitation of the comparison, such as a missing unit; empty if there is none.
        tracking, response: of a channel that has commands in both datasets; otherwise None.
    """

    channel: str
    unit: str
    caution: str
    distance: Distance
    motion: tuple[MotionStatistics, MotionStatistics]
    noise: tuple[NoiseEstimate, NoiseEstimate]
    tracking: tuple[TrackingError, TrackingError] | None
    response: tuple[Response, Response] | None


@dataclass(frozen=True)
class DatasetComparison:
    """Comparison of two datasets.

    Attributes:
        unmatched: channel or camera -> why it is not compared.
        samples: channel -> up to 4000 values of each dataset.
        gaps: distance of the images of each shared camera.
        explanations: rows of the table that explain it, where a twin was given.
    """

    ours: DatasetSide
    theirs: DatasetSide
    channels: tuple[ChannelComparison, ...]
    cameras: Mapping[str, tuple[Appearance, Appearance]]
    unmatched: Mapping[str, str]
    samples: Mapping[str, tuple[np.ndarray, np.ndarray]]
    gaps: tuple[PictureGap, ...] = ()
    explanations: "tuple[PictureExplanation, ...]" = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "ours": asdict(self.ours),
            "theirs": asdict(self.theirs),
            "channels": [asdict(channel) for channel in self.channels],
            "cameras": {name: [asdict(side) for side in both] for name, both in self.cameras.items()},
            "unmatched": dict(self.unmatched),
            "pictures": [gap.to_json() for gap in self.gaps],
            "explanations": [explanation.to_json() for explanation in self.explanations],
        }


def compare_datasets(
    ours: Path | str,
    theirs: Path | str,
    *,
    seed: int,
    hold: Hold = "held",
    extractor: Extractor = picture_features,
    twin: RunConfig | None = None,
    on_channel: Callable[[int, int], None] = lambda _done, _total: None,
) -> DatasetComparison:
    """Compare two datasets channel by channel and camera by camera.

    Args:
        hold: how commands act between rows (`signals/response.py`).
        extractor: features of an image.
        twin: config whose rows explain the difference of the images of `theirs` from its own; None: no explanation.
        on_channel: called with (channels done, channels in all).
    """
    datasets = Dataset.open(ours), Dataset.open(theirs)
    for dataset in datasets:
        require_consent(dataset.attempts(), "analyse", where=str(dataset.path))
    read = [_takes(dataset) for dataset in datasets]
    sides = [_side(dataset, recordings) for dataset, recordings in zip(datasets, read, strict=True)]
    matched, unmatched = _match(read[0][0], read[1][0])
    channels, samples = [], {}
    for done, (name, (scale, caution)) in enumerate(matched.items()):
        ours_values = [_values(take, name) for take in read[0]]
        theirs_values = [_values(take, name) * scale for take in read[1]]
        pairs_of = [_pairs(recordings, name, by) for recordings, by in zip(read, (1.0, scale), strict=True)]
        rates = [side.measured_hz for side in sides]
        follows = follow = None
        if all(pairs_of):
            follows = tracking(pairs_of[0]), tracking(pairs_of[1])
            follow = tuple(
                response(_subsample(pairs), rate_hz=rate, seed=seed, hold=hold)
                for pairs, rate in zip(pairs_of, rates, strict=True)
            )
        channels.append(
            ChannelComparison(
                channel=name,
                unit=_unit(read[0][0], name),
                caution=caution,
                distance=distance(ours_values, theirs_values, seed=seed),
                motion=(motion(ours_values, rate_hz=rates[0]), motion(theirs_values, rate_hz=rates[1])),
                noise=(noise_floor(ours_values, rate_hz=rates[0]), noise_floor(theirs_values, rate_hz=rates[1])),
                tracking=follows,
                response=None if follow is None else (follow[0], follow[1]),
            )
        )
        samples[name] = _sample(ours_values), _sample(theirs_values)
        on_channel(done + 1, len(matched))
    cameras, unseen = _cameras(*datasets)
    gaps, explanations = [], []
    for name in cameras:
        images = [sample_pictures(dataset, name) for dataset in datasets]
        gaps.append(picture_gap(name, *images, seed=seed, extractor=extractor))
        camera = name.removeprefix(PREFIX)
        if twin is not None and camera in twin.cameras_or_default:
            own = twin.cameras_or_default[camera]
            # Importing the renderer takes a second, and only an explanation needs it.
            from twinloop.diagnose.picture_rows import explain_pictures

            theirs_images = cropped(images[1].pictures, own.height / own.width)
            explanations.append(explain_pictures(twin, camera, theirs_images, seed=seed, extractor=extractor))
    return DatasetComparison(
        sides[0], sides[1], tuple(channels), cameras, {**unmatched, **unseen}, samples, tuple(gaps),
        tuple(explanations),
    )  # fmt: skip


def _takes(dataset: Dataset) -> list[RecordedEpisode]:
    """Up to `MAX_EPISODES` accepted episodes (or stored ones, if none is accepted), spread evenly over the dataset."""
    attempts = dataset.attempts()
    if not dataset.stored:
        raise DatasetError(f"{dataset.path}: has no episodes to compare")
    rows = zip(
        attempts["attempt"].to_pylist(), attempts["length"].to_pylist(), attempts["verdict"].to_pylist(), strict=True
    )
    stored = [(attempt, verdict) for attempt, length, verdict in rows if length]
    good = [attempt for attempt, verdict in stored if verdict == ACCEPTED] or [attempt for attempt, _ in stored]
    places = np.unique(np.linspace(0, len(good) - 1, min(len(good), MAX_EPISODES)).round().astype(int))
    wanted = {good[place] for place in places}
    return [episode for episode in recorded_episodes(dataset) if episode.attempt in wanted]


def _side(dataset: Dataset, recordings: list[RecordedEpisode]) -> DatasetSide:
    header = dataset.header
    verdicts = dataset.attempts()["verdict"].to_pylist()
    clocks = [take.time_s for take in recordings if take.time_s is not None and take.rows > 2]
    measured = (
        1 / float(np.median(np.concatenate([np.diff(clock) for clock in clocks]))) if clocks else float(header.fps)
    )
    features = {
        feature.name: f"{feature.dtype} {'×'.join(map(str, feature.shape))} {feature.unit}".strip()
        for feature in header.features
    }
    return DatasetSide(
        path=dataset.path.name, name=header.name, source=header.source, robot=header.robot, rate_hz=float(header.fps),
        measured_hz=measured if np.isfinite(measured) and measured > 0 else float(header.fps),
        episodes=verdicts.count(ACCEPTED) or dataset.stored, read=len(recordings),
        seconds=sum(take.rows for take in recordings) / float(header.fps), features=features,
    )  # fmt: skip


def _match(ours: RecordedEpisode, theirs: RecordedEpisode) -> tuple[dict[str, tuple[float, str]], dict[str, str]]:
    """(matched, unmatched) channels.

    Returns:
        Channel -> (factor from their unit to ours, caution) for channels with the same name and quantity, and
        channel -> why it is not compared.
    """
    mine = {column.name: column for column in ours.channels if column.feature not in NOT_COMPARED}
    other = {column.name: column for column in theirs.channels if column.feature not in NOT_COMPARED}
    matched, unmatched = {}, {}
    for name, channel in mine.items():
        if name not in other:
            unmatched[name] = "only the first has it"
            continue
        units = spelled(channel.unit), spelled(other[name].unit)
        size = factor(units[1], units[0])
        if units[0] == units[1]:
            matched[name] = (
                1.0,
                "" if units[0] or not name.startswith(("action", "observation")) else "no unit is declared",
            )
        elif not all(units):
            known, unknown = ("first", "second") if units[0] else ("second", "first")
            matched[name] = 1.0, f"only the {known} declares a unit; the {unknown} is taken to have the same"
        elif size is not None:
            matched[name] = size, f"converted from {units[1]} to {units[0]}"
        else:
            unmatched[name] = f"{units[0]} cannot be compared with {units[1]}"
    unmatched |= {name: "only the second has it" for name in other if name not in mine}
    return matched, unmatched


def _values(take: RecordedEpisode, name: str) -> np.ndarray:
    return next(channel.values for channel in take.channels if channel.name == name)


def _unit(take: RecordedEpisode, name: str) -> str:
    return next(channel.unit for channel in take.channels if channel.name == name)


def _pairs(recordings: list[RecordedEpisode], name: str, scale: float) -> list[tuple[np.ndarray, np.ndarray]]:
    out = []
    for take in recordings:
        pair = next((candidate for candidate in take.sent_pairs if candidate.measured.name == name), None)
        if pair is not None:
            out.append((pair.command.values * scale, pair.measured.values * scale))
    return out


def _subsample(pairs: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pairs with most motion, up to about `MAX_RESPONSE_ROWS` rows, to limit the computing time."""
    ordered = sorted(pairs, key=lambda pair: -float(np.abs(np.diff(pair[0])).mean()) if len(pair[0]) > 1 else 0.0)
    rows = np.cumsum([len(command) for command, _ in ordered])
    return ordered[: max(1, int(np.searchsorted(rows, MAX_RESPONSE_ROWS)) + 1)]


def _sample(values: list[np.ndarray]) -> np.ndarray:
    whole = np.concatenate(values)
    return whole[np.linspace(0, len(whole) - 1, min(len(whole), 4000)).astype(int)]


def _cameras(ours: Dataset, theirs: Dataset) -> tuple[dict[str, tuple[Appearance, Appearance]], dict[str, str]]:
    names = [{picture.name for picture in side.header.pictures if picture.dtype == "video"} for side in (ours, theirs)]
    compared, unseen = {}, {}
    for name in sorted(names[0] & names[1]):
        looks = [appearance(_pictures(side, name)) for side in (ours, theirs)]
        if looks[0] is not None and looks[1] is not None:
            compared[name] = looks[0], looks[1]
    unseen |= dict.fromkeys(names[0] - names[1], "only the first has this camera")
    unseen |= dict.fromkeys(names[1] - names[0], "only the second has this camera")
    return compared, unseen


def _pictures(dataset: Dataset, name: str) -> Iterator[np.ndarray]:
    feature = dataset.header.feature(name)
    entries = [entry for entry in dataset.entries if entry.frames]
    for place in np.unique(np.linspace(0, len(entries) - 1, FILMED_EPISODES).round().astype(int)):
        entry = entries[place]
        length = int(to_numpy(dataset.episodes(entry, ["length"])["length"]).sum())
        path = dataset.path / SHARDS / entry.name / video_file(feature)
        for frame in np.unique(np.linspace(0, length - 1, FILMED_FRAMES).round().astype(int)):
            yield read_frames(path, feature, int(frame), int(frame) + 1, fps=dataset.header.fps)[0]
