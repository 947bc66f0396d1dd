"""CameraFilm: colour, depth and masks of one camera in one stored episode, from the dataset or rendered again."""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.dataset.reader import Dataset
from twinloop.errors import DatasetError, TwinloopError, UsageError, nearest
from twinloop.observe.image import sensed
from twinloop.observe.moments import shown_in
from twinloop.observe.recording import PREFIX
from twinloop.observe.renderer import Renderer
from twinloop.run.config import config_from_text
from twinloop.run.reproduce import reproduce

DEPTH, INSTANCES = "_depth", "_instances"
UNMOVED = ("world", "table")
SAME_ACTION = 1e-3


@dataclass(frozen=True)
class CameraFilm:
    """One camera over one episode.

    Attributes:
        rgb: (f, h, w, 3) uint8.
        depth_m: (f, h, w) metres along the view; None if it is not known.
        ids: (f, h, w) uint8 bodies; None if they are not known.
        names: names of the ids.
        rendered: whether the twin rendered depth and masks again.
        note: why depth or masks are missing.
    """

    camera: str
    rgb: np.ndarray
    depth_m: np.ndarray | None
    ids: np.ndarray | None
    names: tuple[str, ...]
    rendered: bool
    note: str = ""

    @property
    def background_ids(self) -> tuple[int, ...]:
        return tuple(number for number, name in enumerate(self.names) if name in UNMOVED)


def camera_names(dataset: Dataset) -> list[str]:
    """Names of the cameras whose colour images are stored."""
    return [
        feature.name.removeprefix(PREFIX)
        for feature in dataset.header.pictures
        if feature.dtype == "video" and feature.name.startswith(PREFIX)
    ]


def chosen_camera(dataset: Dataset, camera: str | None) -> str:
    cameras = camera_names(dataset)
    if not cameras:
        raise UsageError(f"{dataset.path}: stores no colour images; generate it from a config with `cameras`")
    if camera is None:
        return cameras[0]
    if camera not in cameras:
        raise UsageError(f"--camera {camera}: is not a camera of {dataset.path}; {nearest(camera, cameras)}")
    return camera


def read_camera_film(dataset: Dataset, episode_index: int, camera: str) -> CameraFilm:
    """Read the images of a camera. Depth and masks that a simulated dataset does not store are rendered again."""
    frames = dataset.episode(episode_index)
    attempt = int(frames["attempt"][0])
    stored = {feature.name: feature for feature in dataset.header.pictures}
    rgb = dataset.pictures(None, PREFIX + camera, attempt=attempt)
    depth_m = ids = None
    names: tuple[str, ...] = ()
    if PREFIX + camera + DEPTH in stored:
        depth_m = dataset.pictures(None, PREFIX + camera + DEPTH, attempt=attempt)
    if PREFIX + camera + INSTANCES in stored:
        ids = dataset.pictures(None, PREFIX + camera + INSTANCES, attempt=attempt)
        names = stored[PREFIX + camera + INSTANCES].names
    if depth_m is not None and ids is not None:
        return CameraFilm(camera, rgb, depth_m, ids, names, rendered=False)
    if dataset.header.source != "sim":
        return CameraFilm(
            camera, rgb, depth_m, ids, names, rendered=False,
            note="real episodes have no depth and masks unless they were recorded",
        )  # fmt: skip
    return _rendered(dataset, attempt, camera, frames, CameraFilm(camera, rgb, depth_m, ids, names, rendered=True))


def _rendered(
    dataset: Dataset, attempt: int, camera: str, frames: dict[str, np.ndarray], film: CameraFilm
) -> CameraFilm:
    try:
        config = config_from_text(dataset.config_text(), name="config.yaml", folder=dataset.path)
        config = config.with_seed(dataset.header.run_seed)
        made = reproduce(config, attempt)
    except (TwinloopError, ValueError) as error:
        return replace(film, rendered=False, note=f"the episode cannot be simulated again: {error}")
    episodes, length = made.episodes, len(frames["timestamp"])
    own = config.of_episode(attempt).cameras_or_default[camera]
    again = episodes["action"] if "action" in episodes.channels else None
    same = int(episodes.lengths[0]) == length
    if same and again is not None and again.shape == frames["action"].shape:
        same = bool(np.abs(again - frames["action"]).max() < SAME_ACTION)
    if not same:
        raise DatasetError(
            f"{dataset.path}: attempt {attempt} is another motion when it is simulated again, so depth and masks would "
            "not fit its images: the software differs from that of the dataset (`twinloop info` lists its versions)"
        )
    renderer = Renderer(made.twin, {camera: replace(own, depth=True)})
    clip = renderer.film(episodes, 0, masks=True)[camera]
    values = {column: float(array[0]) for column, array in episodes.draws.values.items()}
    # Depth and masks go through the lens like the stored image. Sensor errors of depth are left out.
    quiet = {name: value for name, value in values.items() if not name.startswith("depth_")}
    seen = sensed(clip, {**values, **dict.fromkeys(set(values) - set(quiet), 0.0)}, seed=config.rollout.seed,
                  attempt=attempt, name=camera)  # fmt: skip
    repeated = shown_in(seen.ticks, length)
    return replace(
        film,
        depth_m=seen.depth_m[repeated] if film.depth_m is None else film.depth_m,
        ids=seen.instance_ids[repeated].astype(np.uint8) if film.ids is None else film.ids,
        names=seen.names if film.ids is None else film.names,
    )
