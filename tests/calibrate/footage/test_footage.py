"""A camera's pose is found again from the films of a robot whose joint positions are known."""

import json
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import yaml

from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.footage.alignment import align, outline, silhouettes
from twinloop.calibrate.footage.camera_fit import CameraFit, PoseSearch, informative_frames
from twinloop.calibrate.footage.film_frames import Footage, read_footage
from twinloop.calibrate.footage.film_twin import calibrate_films
from twinloop.calibrate.footage.moving_mask import RobotMasks, robot_masks
from twinloop.calibrate.footage.robot_points import RobotPoints
from twinloop.calibrate.footage.surroundings import light_direction
from twinloop.calibrate.footage.view import FilmView, view_around
from twinloop.cli import main
from twinloop.dashboard.footage import render_footage, write_backgrounds
from twinloop.errors import DatasetError, UsageError
from twinloop.observe.camera import CameraConfig
from twinloop.run.config import config_from_text

EXAMPLES = Path(__file__).parents[3] / "examples"
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
ORANGE, TABLE, CUP = (220, 110, 40), (190, 190, 200), (60, 160, 70)
WIDTH, HEIGHT = 160, 120


@pytest.fixture(scope="module")
def bench() -> Bench:
    return load_bench(EXAMPLES / "so101_cell.yaml")


@pytest.fixture(scope="module")
def camera() -> FilmView:
    return view_around(
        np.array([0.25, 0.0, 0.1]), azimuth_rad=0.5, elevation_rad=0.7, distance_m=0.7, aside=(0.1, -0.1),
        roll_rad=0.1, fov_deg=50, width=WIDTH, height=HEIGHT,
    )  # fmt: skip


def painted(mask: np.ndarray, rng: np.random.Generator, frame: int) -> np.ndarray:
    """A frame: a noisy table, the robot, and a cup that somebody moves in the middle of the film."""
    picture = np.empty((HEIGHT, WIDTH, 3))
    picture[:] = TABLE
    left = 20 if frame < 30 else 34
    picture[80:100, left : left + 14] = CUP
    picture[mask] = ORANGE
    return np.clip(picture + rng.normal(0, 2, picture.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def footage(bench: Bench, camera: FilmView) -> Footage:
    rng, time = np.random.default_rng(5), np.arange(64) / 10
    waves = [np.sin(time * (0.6 + 0.2 * joint) + joint) for joint in range(6)]
    positions = np.stack(waves, axis=1) * [0.8, 0.5, 0.5, 0.5, 0.8, 0.3] + [0, -0.4, 0.4, 0.6, 0, 0.4]
    points = RobotPoints(bench.model, JOINTS, spacing_m=0.004)
    masks = silhouettes(points, CameraFit(camera, np.zeros(6), 0.0), positions)
    rgb = np.stack([painted(mask, rng, frame) for frame, mask in enumerate(masks)])
    return Footage("front", rgb, positions, np.zeros(64, int), np.arange(64), JOINTS, positions, {"film.mp4": "0"})


def test_the_mask_shows_the_arm_and_neither_cup_nor_shadow(bench: Bench, camera: FilmView, footage: Footage):
    points = RobotPoints(bench.model, JOINTS, spacing_m=0.004)
    truth = silhouettes(points, CameraFit(camera, np.zeros(6), 0.0), footage.positions)
    masks = robot_masks(footage.rgb, footage.film)
    moving = truth & (truth.mean(axis=0) < 0.5)
    assert masks.moving[moving].mean() > 0.9
    assert masks.moving[~truth].mean() < 0.01
    dimmed = footage.rgb.copy()
    dimmed[10, 40:60, 100:120] = (dimmed[10, 40:60, 100:120] * 0.7).astype(np.uint8)
    shaded = robot_masks(dimmed, footage.film).moving[10, 42:58, 102:118] & ~truth[10, 42:58, 102:118]
    assert shaded.mean() < 0.05


def test_a_hidden_camera_is_found_again(bench: Bench, camera: FilmView, footage: Footage, tmp_path: Path):
    search = PoseSearch(starts=1, rounds=40, population=8, refinements=2, evaluations=200)
    twin = calibrate_films(bench, footage, seed=0, search=search)
    assert len(twin.held_out.frames) > 10
    assert twin.held_out.error_px < 3
    assert twin.held_out.iou > 0.5
    mount = np.array(bench.robot.mount_m if bench.robot is not None else (0, 0, 0))
    assert np.linalg.norm(np.array(twin.camera.position_m) - mount - camera.position_m) < 0.25
    assert twin.camera.axes[:, 2] @ camera.axes[:, 2] > np.cos(np.deg2rad(20))
    assert twin.fit.zeros_rad[0] == 0  # the first joint's zero is part of the camera's place
    twin.write(tmp_path / "camera.yaml")
    written = yaml.safe_load((tmp_path / "camera.yaml").read_text())
    text = yaml.safe_dump({"scene": {"robot": "so101", "task": "pick_and_place"}, "cameras": written["cameras"]})
    config = config_from_text(text, name="made.yaml", folder=tmp_path)
    assert config.cameras["front"].roll_deg == pytest.approx(twin.camera.roll_deg)
    assert render_footage(twin).count("data:image/png;base64") == len(twin.overlays) + 1
    assert [path.name for path in write_backgrounds(twin, tmp_path / "bg")] == ["front-0.png"]


def test_a_view_and_the_camera_of_a_config_agree(camera: FilmView):
    config = CameraConfig(
        "fixed", tuple(camera.position_m), tuple(camera.position_m + 0.5 * camera.axes[:, 2]), camera.fov_deg,
        roll_deg=camera.roll_deg,
    )  # fmt: skip
    np.testing.assert_allclose(config.axes, camera.axes, atol=1e-9)
    pixels, depth = camera.pixels(camera.position_m + 2.0 * camera.axes[:, 2])
    np.testing.assert_allclose(pixels, (WIDTH / 2, HEIGHT / 2), atol=1e-3)
    assert depth == pytest.approx(2.0, abs=1e-5)


def test_a_camera_that_is_off_by_a_known_angle_is_off_by_as_many_pixels(
    bench: Bench, camera: FilmView, footage: Footage
):
    points = RobotPoints(bench.model, JOINTS, spacing_m=0.003)
    truth = CameraFit(camera, np.zeros(6), 0.0)
    masks = silhouettes(points, truth, footage.positions)
    seen = RobotMasks(masks, np.zeros((1, HEIGHT, WIDTH), bool))
    exact = align(points, truth, footage.positions, seen, footage.film, seed=0)
    assert (exact.error_px, exact.iou) == (0.0, 1.0)
    turn = 5 / camera.focal_px  # five pixels
    cos, sin = np.cos(turn), np.sin(turn)
    axes = camera.axes @ np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    turned = align(
        points, CameraFit(replace(camera, axes=axes), np.zeros(6), 0.0), footage.positions, seen, footage.film, seed=0
    )
    # A shift of five pixels moves edges along the shift less than five.
    assert 1.5 < turned.error_px < 5.5
    assert turned.error_interval_px[0] <= turned.error_px <= turned.error_interval_px[1]


def test_the_light_is_found_from_the_shadow(bench: Bench, camera: FilmView, footage: Footage):
    points = RobotPoints(bench.model, JOINTS, spacing_m=0.004)
    fit, rows = CameraFit(camera, np.zeros(6), 0.0), np.arange(0, 64, 8)
    world = points.at(footage.positions[rows])[:, points.moving]
    azimuth, elevation = np.deg2rad(120), np.deg2rad(45)
    fallen = world.copy()
    fallen[..., :2] -= world[..., 2:] * np.array([np.cos(azimuth), np.sin(azimuth)], np.float32) / np.tan(elevation)
    fallen[..., 2] = 0
    masks = silhouettes(points, fit, footage.positions[rows])
    shadows = np.zeros_like(masks)
    for number, place in enumerate(fallen):
        u, v = np.floor(camera.pixels(place)[0]).astype(int).T
        inside = (u >= 0) & (u < WIDTH) & (v >= 0) & (v < HEIGHT)
        shadows[number, v[inside], u[inside]] = True
    seen = RobotMasks(masks, np.zeros((1, HEIGHT, WIDTH), bool))
    light, score = light_direction(points, fit, footage.positions[rows], seen, shadows, 0.0)
    assert light is not None
    np.testing.assert_allclose(light, (120, 45), atol=16)
    assert score > 0.2


def test_frames_of_a_fit_show_different_postures(footage: Footage):
    masks = np.ones((64, 4, 4), bool)
    chosen = informative_frames(masks, footage.positions, most=6)
    assert len(set(chosen.tolist())) == 6
    gaps = np.linalg.norm(footage.positions[chosen][:, None] - footage.positions[chosen], axis=2)
    assert gaps[~np.eye(6, dtype=bool)].min() > 0.5
    assert not outline(np.ones((8, 8), bool)).any()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, footage: Footage) -> Path:
    """A LeRobot dataset with one film, in the units of the bench file."""
    folder = tmp_path_factory.mktemp("films")
    film = folder / "look.mp4"
    with av.open(str(film), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=30, options={"qscale": "2"})
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        for frame in footage.rgb:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    data = folder / "data"
    scales = [0.020732, 0.017610, 0.017073, 0.017756, 0.031408, 0.022442]
    units = (footage.positions - [0, 0, 0, 0, 0, -0.1745]) / scales
    write_lerobot(data, units.astype(np.float32), film)
    return data


def write_lerobot(root: Path, state: np.ndarray, film: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for place in ("meta", "data/chunk-000", "videos/chunk-000/observation.images.front"):
        (root / place).mkdir(parents=True)
    rows = {
        "observation.state": pa.array(list(state), pa.list_(pa.float32())),
        "action": pa.array(list(state), pa.list_(pa.float32())),
        "timestamp": pa.array(np.arange(len(state)) / 30, pa.float32()),
        "episode_index": pa.array(np.zeros(len(state), np.int64)),
        "task_index": pa.array(np.zeros(len(state), np.int64)),
    }
    pq.write_table(pa.table(rows), root / "data/chunk-000/episode_000000.parquet")
    vector = {"dtype": "float32", "shape": [6], "names": [f"{joint}.pos" for joint in JOINTS]}
    picture = {"dtype": "video", "shape": [HEIGHT, WIDTH, 3], "names": ["height", "width", "channels"]}
    info = {
        "codebase_version": "v2.1", "robot_type": "so101", "total_episodes": 1, "fps": 30, "chunks_size": 1000,
        "features": {"observation.state": vector, "action": vector, "observation.images.front": picture},
    }  # fmt: skip
    (root / "meta/info.json").write_text(json.dumps(info))
    (root / "meta/episodes.jsonl").write_text(
        json.dumps({"episode_index": 0, "length": len(state), "tasks": ["move"]}) + "\n"
    )
    (root / "videos/chunk-000/observation.images.front/episode_000000.mp4").write_bytes(film.read_bytes())


def test_films_are_read_with_the_joint_positions_of_their_rows(bench: Bench, recorded: Path, footage: Footage):
    read = read_footage(bench, recorded, camera="front", most_frames=32)
    assert read.joints == JOINTS
    np.testing.assert_allclose(read.positions, footage.positions[read.rows], atol=1e-4)
    assert np.abs(read.rgb.astype(int) - footage.rgb[read.rows]).mean() < 6
    assert set(read.blocks.tolist()) == {0, 1}
    with pytest.raises(UsageError, match="front"):
        read_footage(bench, recorded, camera="frnt")


def test_a_film_of_another_length_is_refused(bench: Bench, recorded: Path, footage: Footage, tmp_path: Path):
    film = recorded / "videos/chunk-000/observation.images.front/episode_000000.mp4"
    write_lerobot(tmp_path / "longer", np.zeros((80, 6), np.float32), film)
    with pytest.raises(DatasetError, match="64 frames, but the episode has 80 rows"):
        read_footage(bench, tmp_path / "longer", camera="front")
    still = replace(footage, rgb=np.repeat(footage.rgb[:1], 64, axis=0))
    with pytest.raises(DatasetError, match="nothing moves"):
        calibrate_films(bench, still, seed=0)


def test_the_command_asks_for_a_camera(recorded: Path, capsys: pytest.CaptureFixture[str]):
    bench = str(EXAMPLES / "so101_cell.yaml")
    assert main(["calibrate", bench, "--films", str(recorded)]) != 0
    assert "--camera" in capsys.readouterr().err
    assert main(["calibrate", bench, "--logs", str(recorded), "--backgrounds", "bg"]) != 0
    assert "--films" in capsys.readouterr().err
