"""CellLayout: the scene of a rehearsal cell at the start of an episode, determined by the cell and episode number."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from twinloop.deploy.rehearsal.cell_file import CellConfig, chosen
from twinloop.deploy.rehearsal.pool import RIGID_PA, CellObject, scaled
from twinloop.deploy.rehearsal.truth import TRUTHS
from twinloop.randomize.draw import episode_rng, nominal_values
from twinloop.randomize.start import clutter_places
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import inapplicable_rows
from twinloop.twin.entity import Entity, Thing
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.scene import Start
from twinloop.twin.task import Task

LIGHTS = ((0.35, "dark"), (0.7, "dim"), (1.4, "normal"), (np.inf, "bright"))
"""(upper end of the lighting intensity, its name in the recorded conditions)."""
MASS_SCALE = "object_mass_scale"
SHIFT_ROW = "object_shift_cm"
"""Row that cannot vary in tasks whose first thing is inside something; nobody moves it there."""


@dataclass(frozen=True)
class Visit:
    """A person moves the first thing during the episode: when (s), and by how much (m)."""

    at_s: float
    shift_m: np.ndarray


@dataclass(frozen=True)
class CellLayout:
    """The scene of one episode. Poses are x, y, z, quaternion w, x, y, z.

    Attributes:
        values: column of the table of truths -> its value in this episode; `row.thing` for things but the first.
        draw: the same as columns of the parameter table, for the task's own functions.
        task: the task with the things of this episode.
        stiffness_pa: thing -> contact stiffness, as the pressure at its centre.
        clutter_m: (things, 3) places of the clutter.
        roles: role -> the entity that plays it.
        human: a person is present.
    """

    values: Mapping[str, float]
    draw: Mapping[str, np.ndarray]
    task: Task
    kind: str
    stiffness_pa: Mapping[str, float]
    start: Start
    clutter_m: np.ndarray
    roles: Mapping[str, str]
    human: bool
    visit: Visit | None

    @property
    def conditions(self) -> dict[str, str]:
        light = next(name for most, name in LIGHTS if self.values["lighting_intensity"] < most)
        return {"object": self.kind, "light": light, "human": "present" if self.human else "absent", **self.roles}

    @property
    def gravity_m_s2(self) -> np.ndarray:
        tilt = np.deg2rad([self.values["gravity_tilt_deg.x"], self.values["gravity_tilt_deg.y"]])
        down = np.array([*np.sin(tilt), np.cos(np.hypot(*tilt))])
        return -9.81 * down / np.linalg.norm(down)

    def of_thing(self, thing: str, column: str) -> float:
        """Return the value of a row for one thing."""
        row, dot, element = column.partition(".")
        return self.values.get(f"{row}.{thing}{dot}{element}", self.values[column])


def situation_of(cell: CellConfig, episode: int) -> CellLayout:
    rng = episode_rng(cell.seed, episode, stream="situation")
    task = cell.scene.task
    values = chosen(cell, rng)
    fixed = inapplicable_rows(task)
    for row in TRUTHS:
        if row.name in fixed:
            values |= dict.fromkeys(row.columns, float(np.mean(row.nominal)))
    item = cell.pool[int(rng.integers(len(cell.pool)))]
    human = bool(rng.random() < values["human_present_share"])
    at_s, angle = float(rng.uniform(0.4, 1.4)), rng.uniform(0, 2 * np.pi)
    shift_m = values["human_shift_cm"] / 100 * np.array([np.cos(angle), np.sin(angle), 0])
    values |= _of_other_things(cell, values, episode)
    things, stiffness_pa = _things(task, item, values)
    task = replace(task, entities=things)
    # Things have their size already.
    own_size = {column: 1.0 for column in values if column.startswith("object_size_scale")}
    columns = {name: np.array([value]) for name, value in {**values, **own_size}.items()}
    choice = episode_rng(cell.seed, episode, stream="roles").random() if task.roles else 0.0
    draw = nominal_values(1) | columns | {"task_choice": np.array([choice])}
    start = task.start(draw, 1, task.by_name)
    numbers = task.choices(draw["task_choice"])
    movable = task.things[0].name in task.varied_things and SHIFT_ROW not in task.unvaried
    return CellLayout(
        values=values if human else values | {"human_hiding_share": 0.0},
        draw=draw,
        task=task,
        kind=things[0].object.name if isinstance(things[0], Thing) else "",
        stiffness_pa=stiffness_pa,
        start=start,
        clutter_m=clutter_places(draw, start)[0],
        roles={role.name: role.candidates[int(numbers[role.name][0])] for role in task.roles},
        human=human,
        visit=Visit(at_s, shift_m) if human and movable and values["human_shift_cm"] > 0 else None,
    )


def _of_other_things(cell: CellConfig, values: Mapping[str, float], episode: int) -> dict[str, float]:
    """Draw the rows of things for all but the first thing. The other rows keep the values of the first."""
    rng = episode_rng(cell.seed, episode, stream="things")
    rows = [row for row in TRUTHS if row.name == MASS_SCALE or (row.name in BY_NAME and BY_NAME[row.name].of_thing)]
    fixed = inapplicable_rows(cell.scene.task)
    out = {}
    for thing in cell.scene.task.varied_things:
        if thing == cell.scene.task.things[0].name:
            continue
        for row in rows:
            low, high = cell.truth[row.name]
            for column in row.columns:
                name, dot, element = column.partition(".")
                drawn = float(rng.uniform(low, high))
                out[f"{name}.{thing}{dot}{element}"] = values[column] if row.name in fixed else drawn
    return out


def _things(task: Task, item: CellObject, values: Mapping[str, float]) -> tuple[tuple[Entity, ...], dict[str, float]]:
    """Return the entities with the things of this episode, and the stiffness of each thing."""
    entities, stiffness_pa = [], {}
    for number, entity in enumerate(task.entities):
        if not isinstance(entity, Thing):
            entities.append(entity)
            continue
        own = entity.object
        # Only tasks with a cube as first thing can do with another object instead.
        kind = item.object if number == 0 and own == OBJECTS["cube"] else own
        suffix = f".{entity.name}" if number else ""
        varied = entity.name in task.varied_things
        size = values.get(f"object_size_scale{suffix}", 1.0) if varied else 1.0
        mass = values.get(f"{MASS_SCALE}{suffix}", 1.0) if varied else 1.0
        # One rigid body: a soft thing is compliant through its contacts only.
        solid = replace(scaled(kind, size=size, mass=mass), young_kpa=0.0)
        entities.append(replace(entity, object=solid))
        stiffness_pa[entity.name] = _stiffness_pa(kind)
    return tuple(entities), stiffness_pa


def _stiffness_pa(kind: SceneObject) -> float:
    return 1000 * kind.young_kpa if kind.soft else RIGID_PA
