"""Read the free labels of a dataset: poses from the environment state, pixels from the labels `poses` of its cameras.

The pose of one thing is known in the world and in the camera, which gives the camera's pose. All other landmarks are
then projected into the image through the episode's own lens.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from twinloop.dataset import Dataset, Header, ShardEntry
from twinloop.dataset.parquet import to_numpy
from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.free_labels import POSE, TOOL, FreeLabels
from twinloop.observe.recording import PREFIX, Feature

ENVIRONMENT = "observation.environment_state"
PLACE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def read_labels(part: Demonstrations) -> FreeLabels | None:
    """Return the labels of all frames of `part`, or None if the dataset has none."""
    header, dataset = part.dataset.header, part.dataset
    known = {feature.name: feature for feature in header.columns}
    if ENVIRONMENT not in known or part.real:
        return None
    landmarks = tuple(_posed(known[ENVIRONMENT]))
    if not landmarks:
        return None
    cameras = dict(_labelled(part, header))
    pieces = [
        _labels(dataset, entry, keep, known[ENVIRONMENT], landmarks, cameras)
        for entry, keep in _wanted(part)
    ]  # fmt: skip
    pixels = {image: np.concatenate([piece.pixels[image] for piece in pieces]) for image in cameras}
    return FreeLabels(landmarks, np.concatenate([piece.poses for piece in pieces]), pixels)


def _posed(feature: Feature) -> list[str]:
    """Names with a full pose among the elements of a vector, such as `object` of `object.x` to `object.qz`."""
    names = dict.fromkeys(name.rpartition(".")[0] for name in feature.names)
    return [name for name in names if name and all(f"{name}.{axis}" in feature.names for axis in PLACE)]


def _labelled(part: Demonstrations, header: Header) -> Iterator[tuple[str, Feature]]:
    """RGB and depth images of the policy whose camera has the label `poses`."""
    known = {feature.name: feature for feature in header.columns}
    cameras = sorted((name.split(".")[1] for name in known if name.startswith("label.")), key=len, reverse=True)
    for image in part.space.pictures:
        camera = next((name for name in cameras if image.name.startswith(PREFIX + name)), "")
        label = known.get(f"label.{camera}.poses")
        if label is not None and TOOL in _posed(label):
            yield image.name, label


def _wanted(part: Demonstrations) -> Iterator[tuple[ShardEntry, np.ndarray]]:
    """(shard, which of its episodes are in `part`), in the order of the part's frames."""
    stored, chosen = 0, set(part.episode_index.tolist())
    for entry in part.dataset.entries:
        lengths = to_numpy(part.dataset.episodes(entry, ["length"])["length"])
        index = stored + np.cumsum(lengths > 0) - 1
        stored += int((lengths > 0).sum())
        keep = (lengths > 0) & np.isin(index, list(chosen))
        if keep.any():
            yield entry, keep


def _labels(
    dataset: Dataset, entry: ShardEntry, keep: np.ndarray, environment: Feature, landmarks: tuple[str, ...],
    cameras: Mapping[str, Feature],
) -> FreeLabels:  # fmt: skip
    names = sorted({feature.name for feature in cameras.values()})
    lenses = {name: f"camera/{name.split('.')[1]}/lens" for name in names}
    episodes = dataset.episodes(entry, ["length", *lenses.values()])
    lengths = to_numpy(episodes["length"])
    rows = np.repeat(keep, lengths)
    frames = dataset.frames(entry, [ENVIRONMENT, *names])
    state = _rows(frames, ENVIRONMENT)[rows]
    to_world = np.stack([_pose(state, environment, name) for name in landmarks], axis=1)
    poses = np.concatenate([to_world[..., :3, 3], to_world[..., :2, 0]], axis=2).astype(np.float32)
    assert poses.shape[2] == len(POSE)
    pixels = {}
    for image, label in cameras.items():
        values = _rows(frames, label.name)[rows]
        lens = np.repeat(np.stack(episodes[lenses[label.name]].to_pylist()), lengths, axis=0)[rows]
        shared = next((name for name in landmarks if name in _posed(label)), None)
        points = np.full((len(state), len(landmarks) + 1, 3), np.nan)
        if shared is not None:
            thing = to_world[:, landmarks.index(shared)]
            world_to_camera = _pose(values, label, shared) @ np.linalg.inv(thing)
            points[:, :-1] = (world_to_camera[:, None] @ to_world)[..., :3, 3]
        points[:, -1] = _pose(values, label, TOOL)[:, :3, 3]
        pixels[image] = _projected(points, lens).astype(np.float32)
    return FreeLabels(landmarks, poses, pixels)


def _rows(frames: object, name: str) -> np.ndarray:
    values = to_numpy(frames[name])  # type: ignore[index]
    return values.reshape(len(values), -1).astype(np.float64)


def _pose(values: np.ndarray, feature: Feature, name: str) -> np.ndarray:
    """(n, 4, 4) pose of a thing from its position and quaternion."""
    x, y, z, *quaternion = (values[:, feature.names.index(f"{name}.{axis}")] for axis in PLACE)
    w, i, j, k = quaternion
    pose = np.zeros((len(values), 4, 4))
    pose[:, 0, :3] = np.stack([1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)], axis=1)
    pose[:, 1, :3] = np.stack([2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)], axis=1)
    pose[:, 2, :3] = np.stack([2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)], axis=1)
    pose[:, :3, 3], pose[:, 3, 3] = np.stack([x, y, z], axis=1), 1
    return pose


def _projected(points: np.ndarray, lens: np.ndarray) -> np.ndarray:
    """(n, m, 2) pixels of (n, m, 3) points as a share of width and height; NaN outside the image.

    Args:
        lens: (n, 5) fx, fy, cx, cy and radial distortion.
    """
    focal, centre, distortion = lens[:, None, :2], lens[:, None, 2:4], lens[:, None, 4:]
    ahead = points[..., 2:] > 1e-3
    flat = focal * points[..., :2] / np.where(ahead, points[..., 2:], np.nan)
    radius = np.linalg.norm(flat, axis=2, keepdims=True) / np.linalg.norm(centre, axis=2, keepdims=True)
    share = (centre + flat * (1 + distortion * radius**2)) / (2 * centre)
    inside = ((share >= 0) & (share < 1)).all(axis=2, keepdims=True)
    return np.where(inside, share, np.nan)
