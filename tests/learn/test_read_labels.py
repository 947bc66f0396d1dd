"""Free labels are where a pinhole camera sees things, and frames without labels have NaN."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.dataset.synthetic import CONFIG_TEXT, header
from tests.learn.fork_and_spot import CAMERA
from twinloop.dataset import DatasetWriter, write_shard
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.free_labels import FreeLabels, blank_labels, joined_labels
from twinloop.learn.read_labels import read_labels
from twinloop.observe.recording import Feature, Recording

PLACE = ("x", "y", "z", "qw", "qx", "qy", "qz")
LENS = (20.0, 20.0, 16.0, 16.0, 0.0)
FRAMES = 4


def pose(position: np.ndarray, turn: Rotation) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = turn.as_matrix(), position
    return out


def seven(matrix: np.ndarray) -> list[float]:
    x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return [*matrix[:3, 3], w, x, y, z]


def sevens(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.array([seven(a) + seven(b) for a, b in zip(first, second, strict=True)])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    """A dataset of one episode, the true (frames, 4, 4) poses of camera and goal."""
    pytest.importorskip("av", reason="needs twinloop[video]")
    rng = np.random.default_rng(4)
    path = tmp_path_factory.mktemp("data") / "labelled"
    features = (
        Feature("observation.state", "float32", (1,), ("joint",), "rad"),
        Feature("observation.environment_state", "float32", (14,),
                tuple(f"{thing}.{part}" for thing in ("object", "goal") for part in PLACE)),
        Feature("label.front.poses", "float32", (14,),
                tuple(f"{thing}.{part}" for thing in ("object", "tool") for part in PLACE)),
        Feature("action", "float32", (1,), ("joint",), "rad"),
        Feature(CAMERA, "video", (32, 32, 3), ("height", "width", "channels"), "RGB"),
    )  # fmt: skip
    cameras = np.stack([pose(rng.normal(0, 0.1, 3), Rotation.from_rotvec(rng.normal(size=3))) for _ in range(FRAMES)])
    things = {
        name: np.stack([
            camera @ pose(np.array([*rng.uniform(-0.3, 0.3, 2), 1.0]), Rotation.from_rotvec(rng.normal(size=3)))
            for camera in cameras
        ])
        for name in ("object", "goal", "tool")
    }  # fmt: skip
    in_camera = {name: np.linalg.inv(cameras) @ matrices for name, matrices in things.items()}
    frames = {
        "observation.state": np.zeros((FRAMES, 1), np.float32),
        "observation.environment_state": sevens(things["object"], things["goal"]),
        "label.front.poses": sevens(in_camera["object"], in_camera["tool"]),
        "action": np.zeros((FRAMES, 1), np.float32),
    }
    frames = {name: values.astype(np.float32) for name, values in frames.items()}
    about = header(name="labelled", features=features, episodes=1, shard_episodes=1, phases=())

    def pictures(chosen: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        for _ in chosen:
            yield {CAMERA: np.zeros((FRAMES, 32, 32, 3), np.uint8)}

    with DatasetWriter.open(path, about, CONFIG_TEXT) as writer:
        recording = Recording(np.arange(1), np.array([FRAMES]), ("look",), features, frames, pictures)
        columns = {"attempt": np.arange(1), "task": ("look",), "length": np.array([FRAMES]), "verdict": ["accepted"],
                   "success": np.ones(1, bool), "camera/front/lens": [list(LENS)]}  # fmt: skip
        writer.commit(write_shard(writer.scratch("0"), 0, 1, recording, columns, fps=about.fps))
        writer.finish()
    return path, in_camera["goal"], things["goal"]


def test_a_landmark_without_a_label_of_its_own_is_projected_through_the_lens(seen):
    path, goal_in_camera, goal = seen
    labels = read_labels(load_demonstrations(path, ("observation.state", CAMERA)))
    assert labels is not None
    assert labels.landmarks == ("object", "goal")
    u = (LENS[0] * goal_in_camera[:, 0, 3] / goal_in_camera[:, 2, 3] + LENS[2]) / 32
    v = (LENS[1] * goal_in_camera[:, 1, 3] / goal_in_camera[:, 2, 3] + LENS[3]) / 32
    np.testing.assert_allclose(labels.pixels[CAMERA][:, 1], np.stack([u, v], axis=1), atol=1e-4)
    np.testing.assert_allclose(labels.poses[:, 1, :3], goal[:, :3, 3], atol=1e-5)
    np.testing.assert_allclose(labels.poses[:, 1, 3:], goal[:, :2, 0], atol=1e-5)


def test_without_the_label_poses_there_are_poses_but_no_pixels(seen):
    labels = read_labels(load_demonstrations(seen[0], ("observation.state",)))
    assert labels is not None
    assert labels.pixels == {}
    assert np.isfinite(labels.poses).all()


def test_selected_and_joined_labels_keep_rows_and_mark_missing_ones():
    labels = FreeLabels(("a", "b"), np.ones((3, 2, 5), np.float32), {"front": np.full((3, 3, 2), 0.5, np.float32)})
    chosen = labels.select(("b", "c"), ("front", "wrist"))
    assert np.isfinite(chosen.poses[:, 0]).all()
    assert np.isnan(chosen.poses[:, 1]).all()
    assert np.isnan(chosen.pixels["wrist"]).all()
    assert np.isfinite(chosen.pixels["front"][:, [0, 2]]).all()
    joined = joined_labels([chosen, blank_labels(2, ("b", "c"), ("front", "wrist"))])
    assert joined is not None
    assert joined.poses.shape == (5, 2, 5)
    assert np.isnan(joined.poses[3:]).all()
    assert joined_labels([chosen, None]) is None
