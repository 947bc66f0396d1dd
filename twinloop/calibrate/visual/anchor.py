"""Anchor: fits the camera rows of the twin so that its images match real frames of a camera."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twinloop import __version__
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.calibrate.visual.distance import distance
from twinloop.calibrate.visual.features import NAMES
from twinloop.calibrate.visual.frames import RUN, Frames, read_frames
from twinloop.calibrate.visual.match import COLUMNS, Match, match
from twinloop.errors import UsageError, nearest
from twinloop.observe.clip import Clip
from twinloop.observe.image import sensed
from twinloop.observe.renderer import Renderer
from twinloop.randomize.draw import Sampler
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

SCENES = 24
REVEALS = {
    "read_noise": "consecutive frames with a fixed camera and a mostly static scene",
    "shot_noise": "consecutive frames with a fixed camera and a mostly static scene",
    "defocus_px": "objects with edges in view",
}


@dataclass(frozen=True)
class Anchored:
    """Result of a visual calibration.

    Attributes:
        distance_before, distance_after: distance between real and twin images, in levels of 255. Measured on held-out
            frames if there are at least 8 runs.
        pictures: a few examples of images: (real, twin before, twin after).
    """

    patch: TwinPatch
    match: Match
    distance_before: float
    distance_after: float
    pictures: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]


class Set:
    """Scenes of the twin that are simulated and rendered once. `develop` applies camera effects to them."""

    def __init__(self, config: RunConfig, camera: str, *, scenes: int = SCENES):
        cameras = config.cameras_or_default
        if camera not in cameras:
            raise UsageError(f"--camera {camera}: is not a camera of this config; {nearest(camera, cameras)}")
        seed = config.rollout.seed
        # Rows that are fitted must not be randomized as well.
        fitted = {column.partition(".")[0] for column in COLUMNS}
        varied = {name: distribution for name, distribution in config.randomization.items() if name not in fitted}
        draws = Sampler(varied, seed=seed).draw(0, scenes)
        twin = twin_of(replace(config, randomization=varied))
        own = replace(cameras[camera], depth=False, rgb=True, labels=())
        renderer = Renderer(twin, {camera: own})
        (episodes,) = rollout(
            Cell(twin, width=scenes), iter([draws]), Expert(twin, config.expert, width=scenes, seed=seed), seed=seed
        )
        self.camera, self.name, self._seed = own, camera, seed
        self._clips: list[tuple[int, Clip, dict[str, float]]] = []
        for row in map(int, np.flatnonzero(episodes.lengths > 0)):
            # Episodes are rendered at different moments, so that the arm is in different poses.
            tick = np.array([(row % 8 + 0.5) / 8 * (episodes.lengths[row] - 1)]).round()
            values = {column: float(array[row]) for column, array in draws.values.items()}
            clip = renderer.film(episodes, row, ticks=tick)[camera]
            self._clips.append((int(draws.attempts[row]), _repeated(clip), values))
        if not self._clips:
            raise UsageError("every episode diverged before its first frame; there are no images")

    def develop(self, values: dict[str, float], *, seed: int | None = None) -> list[np.ndarray]:
        """A run of frames of every scene with these values of the fitted rows. The noise is the same for one seed."""
        return [
            sensed(clip, drawn | values, seed=self._seed if seed is None else seed, attempt=attempt, name=self.name).rgb
            for attempt, clip, drawn in self._clips
        ]


def _repeated(clip: Clip) -> Clip:
    """Repeat a clip's frames into a run in which nothing moves, so that frames differ only by noise."""

    def again(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else np.repeat(array, RUN, axis=0)

    return replace(
        clip, rgb=np.repeat(clip.rgb, RUN, axis=0), depth_m=np.repeat(clip.depth_m, RUN, axis=0),
        ticks=np.repeat(clip.ticks, RUN), light_px=np.repeat(clip.light_px, RUN, axis=0),
        geom_ids=again(clip.geom_ids), pixel_velocity=again(clip.pixel_velocity),
    )  # fmt: skip


def anchor(config: RunConfig, frames: Path, *, camera: str, scenes: int = SCENES) -> Anchored:
    """Fit the camera rows to real frames.

    Args:
        frames: folder of videos or images, or one file.
        camera: name of the camera in the config.
        scenes: number of scenes of the twin to compare with.
    """
    stage = Set(config, camera, scenes=scenes)
    real = read_frames(frames, height=stage.camera.height, width=stage.camera.width, camera=camera)
    rng = np.random.default_rng([config.rollout.seed, 0xCA11])
    runs = [run.rgb for run in real.runs]
    # The distance is measured on held-out frames if there are enough runs.
    fit, held = (runs[::2], runs[1::2]) if len(runs) >= 8 else (runs, runs)
    matched = match(fit, stage.develop, rng=rng)
    before = [run[0] for run in stage.develop({}, seed=config.rollout.seed + 1)]
    after = [run[0] for run in stage.develop(matched.values, seed=config.rollout.seed + 1)]
    seen = [run[0] for run in held]
    apart = [distance(seen, twin, rng=np.random.default_rng(7)) for twin in (before, after)]
    examples = tuple(
        (seen[number * len(seen) // 4], before[number * len(before) // 4], after[number * len(after) // 4])
        for number in range(min(4, len(seen), len(before)))
    )
    return Anchored(_patch(config, real, matched, camera, apart), matched, apart[0], apart[1], examples)


def _patch(config: RunConfig, real: Frames, matched: Match, camera: str, apart: list[float]) -> TwinPatch:
    return TwinPatch(
        fitted={
            name: Fitted(estimate.value, estimate.low, estimate.high, BY_NAME[name.partition(".")[0]].unit)
            for name, estimate in matched.fitted.items()
        },
        unknown={name: Unknown(why, REVEALS.get(name, "")) for name, why in matched.unknown.items()},
        samples={},
        spread={},
        ranges=row_ranges(matched.ranges),
        provenance=Provenance(
            twin=f"camera {camera}",
            twin_digest=config.digest,
            logs=real.digests,
            residual={
                name: {"real": float(a), "before": float(b), "after": float(c)}
                for name, a, b, c in zip(NAMES, matched.real, matched.before, matched.after, strict=True)
                if np.isfinite([a, b, c]).all()
            },
            code=f"twinloop {__version__}",
            seed=config.rollout.seed,
        ),
        notes=(
            f"frames of {camera}: sliced Wasserstein distance of patches {apart[0]:.3g} before, {apart[1]:.3g} after, "
            f"in levels of 255, on held-out frames",
        ),
    )


def row_ranges(columns: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Row -> range. A row with several elements gets the union of their ranges, within its plausible range."""
    ranges: dict[str, tuple[float, float]] = {}
    for column, (low, high) in columns.items():
        name = column.partition(".")[0]
        least, most = ranges.get(name, (low, high))
        ends = BY_NAME[name].plausible
        ranges[name] = max(min(low, least), ends[0]), min(max(high, most), ends[1])
    return ranges
