"""Which rows of the table explain the difference between the twin's images and other ones.

Scenes of the twin are filmed with every visual row at its nominal value, and once more with each column of a row moved.
The change of the mean features is the effect of the column. The difference to the other images is then written as a sum
of effects (ridge regression within the rows' plausible ranges). Intervals come from a bootstrap over scenes and images.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.errors import UsageError, nearest
from twinloop.observe.clip import Clip
from twinloop.observe.image import sensed
from twinloop.observe.renderer import Renderer
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.signals.picture_features import Extractor, features_of_pictures, picture_features
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

SCENES = 12
REPEATS = 200
RIDGE = 0.05
AFTER_RENDERING = {
    "distortion", "flare", "corner_loss", "exposure", "blur_px", "shot_noise", "read_levels", "balance", "saturation",
    "jpeg_quality",
}  # fmt: skip
"""Settings that act on rendered images, so a scene is rendered once for all of them."""
NOT_IN_COLOUR = {"open_s", "readout_s", "depth_step_mm", "depth_jitter_px", "depth_holes"}
"""Settings that a still colour image does not show: the shutter needs motion, and the others act on depth."""


@dataclass(frozen=True)
class RowExplanation:
    """How much of the difference a column of the table explains.

    Attributes:
        value, low, high: estimated value in the row's unit, with its 95 % interval.
        share: share of the squared difference that is lost without this column.
        effect: length of the feature change over the row's default range, in standard deviations.
    """

    column: str
    unit: str
    gap: str
    nominal: float
    value: float
    low: float
    high: float
    share: float
    effect: float

    @property
    def is_clear(self) -> bool:
        return not self.low <= self.nominal <= self.high

    def to_json(self) -> dict[str, Any]:
        return {
            "column": self.column, "unit": self.unit, "gap": self.gap, "nominal": self.nominal, "value": self.value,
            "low": self.low, "high": self.high, "share": self.share, "effect": self.effect, "clear": self.is_clear,
        }  # fmt: skip


@dataclass(frozen=True)
class PictureExplanation:
    """rows: columns of the table, the most explaining one first. explained: share of the squared difference."""

    camera: str
    rows: tuple[RowExplanation, ...]
    explained: float

    def to_json(self) -> dict[str, Any]:
        return {
            "camera": self.camera, "explained": self.explained, "rows": [row.to_json() for row in self.rows],
        }  # fmt: skip


def visual_columns() -> list[tuple[Parameter, str]]:
    """The columns of the table that change a still colour image by a number."""
    rows = [row for row in TABLE if row.on_image is not None and row.reach > 0]
    plain = [row for row in rows if not (row.pool or row.words or row.builds or row.needs or row.chance is not None)]
    return [
        (row, column)
        for row in plain
        if row.gap in ("visual", "sensing") and changed_settings(row) - NOT_IN_COLOUR
        for column in row.columns
    ]


def changed_settings(row: Parameter) -> set[str]:
    """Names of the image settings that a row changes."""
    settings, plain = ImageSettings(), ImageSettings()
    ends = sorted(row.sensible, key=lambda end: -abs(end - row.nominal))
    assert row.on_image is not None
    row.on_image(settings, np.full(len(row.elements), ends[0]) if row.elements else np.array(ends[0]))
    return {
        setting.name for setting in fields(settings) if getattr(settings, setting.name) != getattr(plain, setting.name)
    }


class TwinScenes:
    """Scenes of a config, simulated once, each filmed at one moment.

    Args:
        varied: visual rows vary as in the config; otherwise they are nominal.
    """

    def __init__(self, config: RunConfig, camera: str, *, scenes: int, extractor: Extractor, varied: bool = False):
        cameras = config.cameras_or_default
        if camera not in cameras:
            raise UsageError(f"{camera}: is not a camera of the config; {nearest(camera, cameras)}")
        names = set() if varied else {row.name for row, _ in visual_columns()}
        ranges: dict[str, Distribution] = {
            name: distribution for name, distribution in config.randomization.items() if name not in names
        }
        seed = config.rollout.seed
        draws = Sampler(ranges, seed=seed).draw(0, scenes)
        twin = twin_of(replace(config, randomization=ranges))
        own = replace(cameras[camera], depth=False, rgb=True, labels=())
        (self._episodes,) = rollout(
            Cell(twin, width=scenes), iter([draws]), Expert(twin, config.expert, width=scenes, seed=seed), seed=seed
        )
        self._renderer, self._camera, self._seed, self._extractor = (
            Renderer(twin, {camera: own}),
            camera,
            seed,
            extractor,
        )
        self._rows = [int(row) for row in np.flatnonzero(self._episodes.lengths > 0)]
        if not self._rows:
            raise UsageError("every episode diverged before its first frame; there are no images")
        self._plain = [self._clip(self._episodes, row) for row in self._rows]

    def _clip(self, episodes: Episodes, row: int) -> Clip:
        moment = np.array([(row % 8 + 0.5) / 8 * (episodes.lengths[row] - 1)]).round()
        return self._renderer.film(episodes, row, ticks=moment)[self._camera]

    def pictures(self, changed: dict[str, float]) -> np.ndarray:
        """(scenes, h, w, 3) images with these columns set."""
        rendered = any(changed_settings(BY_NAME[column.partition(".")[0]]) - AFTER_RENDERING for column in changed)
        episodes = self._changed(changed) if rendered else self._episodes
        images = []
        for place, row in enumerate(self._rows):
            clip = self._clip(episodes, row) if rendered else self._plain[place]
            values = {column: float(array[row]) for column, array in episodes.draws.values.items()} | changed
            attempt = int(episodes.draws.attempts[row])
            images.append(sensed(clip, values, seed=self._seed, attempt=attempt, name=self._camera).rgb[0])
        return np.stack(images)

    def features(self, changed: dict[str, float]) -> np.ndarray:
        return features_of_pictures(self.pictures(changed), self._extractor)

    def _changed(self, changed: dict[str, float]) -> Episodes:
        draws = self._episodes.draws
        values = {
            column: np.full_like(array, changed[column]) if column in changed else array
            for column, array in draws.values.items()
        }
        return replace(self._episodes, draws=_with_values(draws, values))


def _with_values(draws: Draws, values: dict[str, np.ndarray]) -> Draws:
    return replace(draws, values=values)


def explain_pictures(
    config: RunConfig,
    camera: str,
    theirs: np.ndarray,
    *,
    seed: int,
    scenes: int = SCENES,
    extractor: Extractor = picture_features,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> PictureExplanation:
    """Explain how (n, h, w, 3) images differ from those of a config's camera.

    Args:
        scenes: scenes of the twin that are filmed.
    """
    stage = TwinScenes(config, camera, scenes=scenes, extractor=extractor)
    nominal = stage.features({})
    real = features_of_pictures(theirs, extractor)
    columns = visual_columns()
    moved, steps = [], []
    for number, (row, column) in enumerate(columns):
        on_progress(number, len(columns))
        low, high = row.sensible
        step = (high if abs(high - row.nominal) >= abs(low - row.nominal) else low) - row.nominal
        moved.append(stage.features({column: row.nominal + step}))
        steps.append(step)
    # The scale includes the moved images: a feature that is constant otherwise would dominate.
    everything = np.concatenate([nominal, real, *moved])
    spread = np.where(everything.std(axis=0) > 1e-9, everything.std(axis=0), 1.0)
    effects = np.stack([(features - nominal) / spread for features in moved])
    return _regressed(camera, columns, np.array(steps), effects, (real / spread, nominal / spread), seed=seed)


def _regressed(
    camera: str, columns: list[tuple[Parameter, str]], steps: np.ndarray, effects: np.ndarray,
    features: tuple[np.ndarray, np.ndarray], *, seed: int,
) -> PictureExplanation:  # fmt: skip
    """effects: (columns, scenes, features) change at a full step."""
    plausible = np.array([
        sorted((np.array(row.plausible) - row.nominal) / step) for (row, _), step in zip(columns, steps, strict=True)
    ])  # fmt: skip

    def solve(design: np.ndarray, target: np.ndarray) -> np.ndarray:
        ridge = RIDGE * np.sqrt(np.mean(np.square(design).sum(axis=0)) + 1e-12) * np.eye(design.shape[1])
        stacked = np.vstack([design, ridge])
        bounds = plausible[:, 0] - 1e-9, plausible[:, 1] + 1e-9
        return scipy.optimize.lsq_linear(stacked, np.concatenate([target, np.zeros(len(ridge))]), bounds=bounds).x

    real, nominal = features
    design, target = effects.mean(axis=1).T, real.mean(axis=0) - nominal.mean(axis=0)
    best = solve(design, target)
    rng, again = np.random.default_rng(seed), []
    for _ in range(REPEATS):
        of_real, of_twin = rng.integers(len(real), size=len(real)), rng.integers(len(nominal), size=len(nominal))
        again.append(
            solve(effects[:, of_twin].mean(axis=1).T, real[of_real].mean(axis=0) - nominal[of_twin].mean(axis=0))
        )
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    whole = float(target @ target) or 1.0
    left = target - design @ best
    rows = []
    for place, (row, column) in enumerate(columns):
        without = left + design[:, place] * best[place]
        ends = sorted(row.nominal + steps[place] * end for end in (low[place], high[place]))
        rows.append(
            RowExplanation(
                column=column, unit=row.unit, gap=row.gap, nominal=row.nominal,
                value=float(row.nominal + steps[place] * best[place]), low=float(ends[0]), high=float(ends[1]),
                share=float((without @ without - left @ left) / whole),
                effect=float(np.linalg.norm(design[:, place])),
            )
        )  # fmt: skip
    rows.sort(key=lambda row: -row.share)
    return PictureExplanation(camera, tuple(rows), 1 - float(left @ left) / whole)
