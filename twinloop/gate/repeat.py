"""Repeat: repeats real trials of a policy in the twin, with the same object at the same place and all else drawn.

Each trial on the robot is repeated once, in a separate run whose seed was used neither in training nor in evaluation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twinloop.dataset import Dataset
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.errors import TwinloopError, UsageError
from twinloop.gate.repeats import Repeat, Repeats, trial_names
from twinloop.gate.rollouts import acted, outcomes_of
from twinloop.gate.runlog_evidence import RunlogEvidence
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.runtime import PolicyRuntime
from twinloop.randomize.draw import Draws, nominal_values
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.twin.objects import OBJECTS
from twinloop.twin.task import Start
from twinloop.twin.twin import Twin

SCENE = "observation.environment_state"
PLACES = ("object_position_noise_cm.x", "object_position_noise_cm.y")
GOALS = ("target_position_noise_cm.x", "target_position_noise_cm.y")
YAW = "object_yaw_deg"
MOST_OFF_M = 0.015
"""Largest distance in x and y between the twin's scene and the logged one."""
DRAWN = 512
"""Number of scenes drawn from the config for comparison with the scenes on the robot."""
WIDEST = 64


@dataclass(frozen=True)
class Logged:
    """A real trial.

    Attributes:
        trial: its name, see `trial_names`.
        object: the kind of object.
        scene: (14,) poses of object and goal in the first frame; None if the log has none.
        why: the reason why `scene` is None.
    """

    trial: str
    object: str
    scene: np.ndarray | None
    why: str = ""


def logged_trials(runlogs: Sequence[RunlogEvidence], real: RealEpisodes) -> list[Logged]:
    """Return the trials `real`, which are episodes of `runlogs`, with their logged scenes."""
    datasets = [Dataset.open(log.path) for log in runlogs]
    kinds = real.conditions.get("object", np.full(len(real), ""))
    trials = []
    for row, name in enumerate(trial_names(real)):
        scene, why = scene_of(datasets[int(real.log[row])], int(real.attempt[row]))
        trials.append(Logged(name, str(kinds[row]), scene, why))
    return trials


def repeat(
    candidate: Candidate,
    config: RunConfig,
    logged: Sequence[Logged],
    *,
    config_name: str,
    acting: ActingConfig = ActingConfig(),  # noqa: B008
    known: Repeats | None = None,
    on_progress: Callable[[int, int, int], None] = lambda *_: None,
) -> Repeats:
    """Repeat the logged trials in the twin, in the run with the config's seed.

    Args:
        known: earlier repeats, which are continued with their seed; only new trials are simulated.
        on_progress: called with (new trials done, number of new trials, successes).
    """
    twin, seed = twin_of(config), config.rollout.seed
    refuse_misfit(candidate, config, twin, config_name=config_name)
    refuse_task(twin)
    shape_varies = "object_shape" in config.randomization
    if known is None:
        drawn = config.sampler(seed=seed).draw(0, DRAWN)
        known = Repeats(
            candidate.digest, config.digest, config_name, "any shape" if shape_varies else twin.object.name, seed,
            acting.ensemble, _rows(layout(twin.task.start(drawn.values, DRAWN, twin.task.by_name))), (),
        )  # fmt: skip
    have = {trial.trial for trial in known.trials}
    new = [trial for trial in logged if trial.trial not in have]
    if not new:
        return known
    first = len(known.trials)
    draws = config.sampler(seed=known.seed).draw(first, first + len(new))
    runtime, repeats = candidate.load(), dict[int, Repeat]()
    for kind in dict.fromkeys(trial.object for trial in new):
        rows = [row for row, trial in enumerate(new) if trial.object == kind]
        repeats |= _of_kind(kind, rows, new, config.with_seed(known.seed), draws, runtime, acting)
        on_progress(len(repeats), len(new), sum(value.success is True for value in repeats.values()))
    return replace(known, trials=(*known.trials, *(repeats[row] for row in range(len(new)))))


def refuse_task(twin: Twin) -> None:
    """Raise UsageError if other draws than PLACES and GOALS set where object and goal start in this task."""
    if set(twin.task.by_name) != {"object", "goal"}:
        raise UsageError(
            f"task {twin.task.name!r}: only trials with one object and one goal can be repeated in the twin"
        )
    usual, moved = nominal_values(1), nominal_values(1)
    for column in (*PLACES, *GOALS):
        moved[column] = moved[column] + 1.0
    before, after = (layout(twin.task.start(values, 1, twin.task.by_name)) for values in (usual, moved))
    if not np.allclose((after - before)[:, [0, 1, 3, 4]], 0.01, atol=1e-6):
        raise UsageError(
            f"task {twin.task.name!r}: {', '.join((*PLACES, *GOALS))} alone do not set the poses of object and goal, "
            "so its real trials cannot be repeated in the twin"
        )


def _of_kind(
    kind: str,
    rows: Sequence[int],
    trials: Sequence[Logged],
    config: RunConfig,
    draws: Draws,
    runtime: PolicyRuntime,
    acting: ActingConfig,
) -> dict[int, Repeat]:
    """Return row -> repeat. All trials with the same kind of object share one twin."""
    given = [trials[row] for row in rows]
    if kind not in OBJECTS:
        why = f"the twin has no object {kind!r}" if kind else "the log does not name the object"
        return {row: _without(trial, trial.why or why) for row, trial in zip(rows, given, strict=True)}
    try:
        config = replace(config, scene=replace(config.scene, object=OBJECTS[kind]))
        twin = twin_of(config)
    except TwinloopError as error:
        return {row: _without(trial, f"no twin with a {kind}: {error}") for row, trial in zip(rows, given, strict=True)}
    repeats: dict[int, Repeat] = {}
    laid_out: list[tuple[int, Draws]] = []
    for row, trial in zip(rows, given, strict=True):
        own_draws = _taken(draws, [row])
        laid = _laid_out(twin, trial, own_draws)
        if isinstance(laid, Draws):
            laid_out.append((row, laid))
        else:
            repeats[row] = _without(trial, laid)
    if laid_out:
        block = _together([trial for _, trial in laid_out])
        (episodes,) = acted(config, twin, runtime, acting, [block], width=min(len(laid_out), WIDEST))
        success = outcomes_of(episodes, config, twin).success
        for (row, _), done in zip(laid_out, success, strict=True):
            trial = trials[row]
            repeats[row] = Repeat(trial.trial, kind, _layout_of(trial), bool(done))
    return repeats


def _laid_out(twin: Twin, trial: Logged, draws: Draws) -> Draws | str:
    """Return the draws of one attempt with the trial's layout, or the reason why the twin cannot start with it."""
    if trial.scene is None:
        return trial.why
    wanted = layout(start_of(trial.scene))[0]
    usual = layout(twin.task.start(nominal_values(1), 1, twin.task.by_name))[0]
    offsets = dict(zip((*PLACES, *GOALS), 100 * (wanted - usual)[[0, 1, 3, 4]], strict=True)) | {YAW: wanted[2]}
    for column, offset in offsets.items():
        low, high = BY_NAME[column.partition(".")[0]].plausible
        if not low - 1e-6 <= offset <= high + 1e-6:
            return f"{column} would be {offset:.1f}; the twin allows {low:g} to {high:g}"
    values = dict(draws.values) | {column: np.array([offset]) for column, offset in offsets.items()}
    began = layout(twin.task.start(values, 1, twin.task.by_name))[0]
    off = np.hypot(*(began - wanted)[[0, 1]]), np.hypot(*(began - wanted)[[3, 4]])
    if not max(off) <= MOST_OFF_M:
        return f"the twin starts with the object {100 * off[0]:.1f} cm and the goal {100 * off[1]:.1f} cm away"
    return replace(draws, values=values)


def scene_of(dataset: Dataset, attempt: int) -> tuple[np.ndarray | None, str]:
    try:
        frames = dataset.episode(attempt=attempt)
    except TwinloopError as error:
        return None, str(error)
    if SCENE not in frames:
        return None, f"the log has no {SCENE}"
    scene = np.asarray(frames[SCENE][0], float).ravel()
    if scene.shape != (14,) or not np.isfinite(scene).all():
        return None, f"{SCENE}: its first frame lacks the poses of object and goal"
    return scene, ""


def start_of(scene: np.ndarray) -> Start:
    return Start({"object": scene[None, :7], "goal": scene[None, 7:]})


def layout(start: Start) -> np.ndarray:
    """Return the (n, 5) layout, with the columns of LAYOUT."""
    thing, goal = start.poses["object"], start.poses["goal"]
    w, x, y, z = thing[:, 3:].T
    yaw = np.rad2deg(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    return np.column_stack([thing[:, :2], yaw, goal[:, :2]])


def _layout_of(trial: Logged) -> tuple[float, ...] | None:
    return None if trial.scene is None else _rows(layout(start_of(trial.scene)))[0]


def _rows(layout: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.round(layout, 6).tolist())


def _without(trial: Logged, why: str) -> Repeat:
    return Repeat(trial.trial, trial.object, _layout_of(trial), None, why)


def _taken(draws: Draws, rows: Sequence[int]) -> Draws:
    values = {column: array[list(rows)] for column, array in draws.values.items()}
    return Draws(draws.attempts[list(rows)], values, draws.varied)


def _together(parts: Sequence[Draws]) -> Draws:
    values = {column: np.concatenate([part.values[column] for part in parts]) for column in parts[0].values}
    return Draws(np.concatenate([part.attempts for part in parts]), values, parts[0].varied)
