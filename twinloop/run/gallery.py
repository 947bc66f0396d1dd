"""Gallery: camera pictures of some draws, from simulated episodes."""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.errors import UsageError, nearest
from twinloop.observe.clip import Clip
from twinloop.observe.image import sensed
from twinloop.observe.image_settings import image_settings
from twinloop.observe.labels import Labels, label
from twinloop.observe.lens import through_lens
from twinloop.observe.renderer import Renderer
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Draws
from twinloop.randomize.table import BY_NAME, COLUMNS
from twinloop.run.config import RunConfig, inapplicable_rows
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout


@dataclass(frozen=True)
class GalleryPicture:
    """One camera's picture of the middle of an episode. `truth` is before sensor effects; labels are of it."""

    attempt: int
    camera: str
    time_s: float
    rgb: np.ndarray
    truth: Clip
    labels: Labels | None
    drawn: dict[str, float]


def gallery(
    config: RunConfig, *, count: int, camera: str | None = None, sweep: str | None = None, labels: bool = False
) -> list[list[GalleryPicture]]:
    """One picture per camera (or of the named camera) for each draw, or for each value of the swept parameter."""
    cameras = config.cameras_or_default
    if camera is not None:
        if camera not in cameras:
            raise UsageError(f"camera {camera!r} is not in this config; {nearest(camera, cameras)}")
        cameras = {camera: cameras[camera]}
    seed = config.rollout.seed
    sampler = config.sampler(seed=seed)
    draws = sampler.draw(0, count) if sweep is None else swept(config, sampler.draw(0, 1), sweep, count)
    twin = twin_of(config if sweep is None else _with_row(config, sweep.partition(".")[0]))
    renderer = Renderer(twin, cameras)
    actor = Expert(twin, config.expert, width=count, seed=seed)
    (episodes,) = rollout(Cell(twin, width=count), iter([draws]), actor, seed=seed)
    rows = []
    for row in map(int, np.flatnonzero(episodes.lengths > 0)):
        middle = np.array([episodes.lengths[row] // 2])
        values = {column: float(array[row]) for column, array in draws.values.items()}
        attempt = int(draws.attempts[row])
        pictures = []
        for name, clip in renderer.film(episodes, row, masks=labels, ticks=middle).items():
            truth = through_lens(clip, image_settings(values).distortion)
            pictures.append(
                GalleryPicture(
                    attempt=attempt,
                    camera=name,
                    time_s=float(middle[0] * twin.control_period_s),
                    rgb=sensed(clip, values, seed=seed, attempt=attempt, name=name).rgb[0],
                    truth=truth,
                    labels=label(truth) if labels else None,
                    drawn={column: values[column] for column in draws.varied},
                )
            )
        rows.append(pictures)
    if not rows:
        raise UsageError("every episode diverged before its first frame; `twinloop episode FILE --attempt 0` shows why")
    return rows


def _with_row(config: RunConfig, name: str) -> RunConfig:
    """The config with one row varied, and the row it needs, so that the twin has what they act on."""
    if name in inapplicable_rows(config.scene.world):
        raise UsageError(f"--sweep {name}: {inapplicable_rows(config.scene.world)[name]}")
    names = (name, BY_NAME[name].needs) if BY_NAME[name].needs else (name,)
    return replace(config, randomization={row: Uniform(*BY_NAME[row].sensible) for row in names} | config.randomization)


def swept(config: RunConfig, base: Draws, parameter: str, count: int) -> Draws:
    """The first draw repeated, with one parameter (or one of its elements) swept over its range.

    The range is the config's, or the row's default where the config does not vary it.
    """
    name = parameter.partition(".")[0]
    if name not in BY_NAME or (parameter != name and parameter not in COLUMNS):
        raise UsageError(f"--sweep {parameter}: no such parameter; {nearest(parameter, BY_NAME)}")
    row, given = BY_NAME[name], config.randomization.get(name)
    low, high = given.support() if given is not None else row.sensible
    if row.pool and given is None:
        low, high = 0, row.sensible[1] - 1
    steps = np.linspace(low, high, count)
    columns = [parameter] if parameter != name else row.columns
    values = {column: np.repeat(array, count) for column, array in base.values.items()}
    values |= {column: np.floor(steps) if row.pool else steps for column in columns}
    on = set(row.columns)
    if row.needs and row.needs not in config.randomization:
        # The row has no effect without the row it needs: a person's speed needs a person.
        values[row.needs] = np.full(count, BY_NAME[row.needs].sensible[1])
        on.add(row.needs)
    varied = tuple(column for column in COLUMNS if column in base.varied or column in on)
    return replace(base, attempts=np.repeat(base.attempts, count), values=values, varied=varied)
