"""The twin of filmed footage: camera pose, zeros of the joints, table and light, with the error on held-out frames."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from twinloop import __version__
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.footage.alignment import SPACING_SHARE, Alignment, align, silhouettes
from twinloop.calibrate.footage.camera_fit import CameraFit, PoseSearch, fit_camera
from twinloop.calibrate.footage.film_frames import Footage
from twinloop.calibrate.footage.moving_mask import RobotMasks, median_frames, robot_masks, shadow_masks
from twinloop.calibrate.footage.robot_points import RobotPoints
from twinloop.calibrate.footage.surroundings import FilmedSurroundings, light_direction, table_colour, table_height
from twinloop.config.record import write_record
from twinloop.errors import DatasetError
from twinloop.observe.camera import CameraConfig

SHADOW_FRAMES = 24
FARTHEST_M = 2.9


@dataclass(frozen=True)
class FilmTwin:
    """Result of a calibration from films.

    Attributes:
        camera: in the world of the twin, in which the robot stands at its `mount_m`.
        fitted, held_out: alignment of the frames of the fit, and of the others.
        overlays: some held-out frames: (film, silhouette of the twin, mask of the film).
        medians: (films, h, w, 3) uint8: the scene without what moves.
    """

    name: str
    camera: CameraConfig
    fit: CameraFit
    joints: tuple[str, ...]
    surroundings: FilmedSurroundings
    fitted: Alignment
    held_out: Alignment
    overlays: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]
    medians: np.ndarray
    digests: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        around = self.surroundings
        return {
            "cameras": {self.name: write_record(self.camera)},
            "footage": {
                "alignment_held_out": self.held_out.to_json(),
                "alignment_fitted": self.fitted.to_json(),
                "zeros_deg": {
                    joint: float(np.rad2deg(zero)) for joint, zero in zip(self.joints, self.fit.zeros_rad, strict=True)
                },
                "table_height_m": list(around.table_m),
                "light_deg": None if around.light_deg is None else list(around.light_deg),
                "shadow_iou": around.shadow_fit,
                "table_rgb": list(around.table_rgb),
                "films": self.digests,
                "code": f"twinloop {__version__}",
            },
        }

    def write(self, path: Path) -> None:
        """Write the camera as a section of a run config, and how well it fits."""
        text = yaml.safe_dump(_plain(self.to_json()), sort_keys=False, allow_unicode=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Copy `cameras` into a run config. `footage` says how well the twin fits the films.\n" + text)


def calibrate_films(
    bench: Bench, footage: Footage, *, seed: int, search: PoseSearch = PoseSearch(),  # noqa: B008
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
) -> FilmTwin:  # fmt: skip
    """Fit the camera to alternate runs of frames and measure the others."""
    seen = robot_masks(footage.rgb, footage.film)
    if not seen.moving.any():
        raise DatasetError(
            f"nothing moves in the films of {footage.camera}; a fixed camera that sees the arm is needed"
        )
    _refuse_moving_camera(footage, seen)
    blocks = footage.blocks
    reach_m = _reach(bench, footage)

    def points(spacing_m: float) -> RobotPoints:
        return RobotPoints(bench.model, footage.joints, spacing_m=spacing_m)

    fit_rows, held_rows = np.flatnonzero(blocks == 0), np.flatnonzero(blocks == 1)
    fit = fit_camera(
        points, footage.positions[fit_rows], _select(seen, fit_rows, footage.film), footage.film[fit_rows],
        target_m=_tool_places(bench, footage).mean(axis=0), reach_m=reach_m, seed=seed, search=search,
        on_progress=on_progress,
    )  # fmt: skip
    dense = points(reach_m * SPACING_SHARE)
    aligned = [
        align(dense, fit, footage.positions[rows], _select(seen, rows, footage.film), footage.film[rows], seed=seed)
        for rows in (fit_rows, held_rows)
    ]
    return FilmTwin(
        name=footage.camera, camera=_camera(bench, fit), fit=fit, joints=footage.joints,
        surroundings=_surroundings(points(reach_m / 60), fit, footage, seen, fit_rows),
        fitted=aligned[0], held_out=aligned[1], overlays=_overlays(dense, fit, footage, seen, held_rows, aligned[1]),
        medians=median_frames(footage.rgb, footage.film), digests=footage.digests,
    )  # fmt: skip


def _select(seen: RobotMasks, rows: np.ndarray, film: np.ndarray) -> RobotMasks:
    return replace(seen, moving=seen.moving[rows], static=seen.static[np.isin(np.unique(film), film[rows])])


def _refuse_moving_camera(footage: Footage, seen: RobotMasks) -> None:
    share = float(np.median(seen.moving.mean(axis=(1, 2))))
    if share > 0.5:
        raise DatasetError(
            f"{footage.camera}: {share:.0%} of the image changes in most frames; the pose is fitted for a camera that "
            "stands still, not for one on the wrist"
        )


def _reach(bench: Bench, footage: Footage) -> float:
    if bench.robot is not None:
        return bench.robot.reach_m
    return float(np.linalg.norm(_tool_places(bench, footage), axis=1).max())


def _tool_places(bench: Bench, footage: Footage) -> np.ndarray:
    """(f, 3) the tool, or the last body of a model without a tool site."""
    model, data = bench.model, mujoco.MjData(bench.model)
    places = [model.joint(joint).qposadr[0] for joint in footage.joints]
    out = []
    for row in footage.positions:
        data.qpos[places] = row
        mujoco.mj_kinematics(model, data)
        site = bench.robot.tool_site if bench.robot is not None else ""
        out.append(data.site(site).xpos.copy() if site else data.xpos[-1].copy())
    return np.array(out)


def _camera(bench: Bench, fit: CameraFit) -> CameraConfig:
    view, mount = fit.view, np.array(bench.robot.mount_m if bench.robot is not None else (0.0, 0.0, 0.0))
    position = view.position_m + mount
    look_at = position + 0.5 * view.axes[:, 2]
    return CameraConfig(
        mount="fixed", position_m=_point(position), look_at_m=_point(look_at), fov_deg=round(float(view.fov_deg), 3),
        width=view.width - view.width % 2, height=view.height - view.height % 2, rate_hz=None,  # pyright: ignore
        roll_deg=round(view.roll_deg, 3),
    )  # fmt: skip


def _point(point: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 5) for value in np.clip(point, -FARTHEST_M, FARTHEST_M))
    return x, y, z


def _surroundings(
    points: RobotPoints, fit: CameraFit, footage: Footage, seen: RobotMasks, rows: np.ndarray
) -> FilmedSurroundings:
    table_m = table_height(points, footage.logged, fit)
    chosen = rows[np.linspace(0, len(rows) - 1, min(len(rows), SHADOW_FRAMES)).astype(int)]
    shadows = shadow_masks(footage.rgb, footage.film)[chosen]
    light, score = light_direction(
        points, fit, footage.positions[chosen], _select(seen, chosen, footage.film), shadows, float(np.mean(table_m))
    )
    return FilmedSurroundings(table_m, light, score, table_colour(median_frames(footage.rgb, footage.film)))


def _overlays(
    points: RobotPoints, fit: CameraFit, footage: Footage, seen: RobotMasks, rows: np.ndarray, held: Alignment
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
    """The best, some middle and the worst held-out frames."""
    order = sorted(held.frames, key=lambda frame: frame.twin_to_film_px + frame.film_to_twin_px)
    chosen = [order[place] for place in np.unique(np.linspace(0, len(order) - 1, min(len(order), 8)).astype(int))]
    numbers = rows[[frame.frame for frame in chosen]] if chosen else np.array([], int)
    masks = silhouettes(points, fit, footage.positions[numbers]) if len(numbers) else []
    return tuple((footage.rgb[row], mask, seen.moving[row]) for row, mask in zip(numbers, masks, strict=True))


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, rounded for reading."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return round(float(value), 5) if isinstance(value, (float, np.floating)) else value
