"""CellLayout: the scene of a rehearsal cell at the start of an episode, determined by the cell and episode number."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.deploy.rehearsal.cell_file import CellConfig, chosen
from twinloop.deploy.rehearsal.plant import FixedBody
from twinloop.randomize.draw import episode_rng, nominal_values
from twinloop.twin.clutter import THINGS
from twinloop.twin.clutter import poses as clutter_poses
from twinloop.twin.objects import GEOM_TYPES, SceneObject
from twinloop.twin.scene import Start
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

LIGHTS = ((0.35, "dark"), (0.7, "dim"), (1.4, "normal"), (np.inf, "bright"))
"""(upper end of the lighting intensity, its name in the recorded conditions)."""


@dataclass(frozen=True)
class Visit:
    """A person moves the object during the episode: when (s), and by how much (m)."""

    at_s: float
    shift_m: np.ndarray


@dataclass(frozen=True)
class CellLayout:
    """The scene of one episode. Poses are x, y, z, quaternion w, x, y, z.

    Attributes:
        values: column of the table of truths -> its value in this episode.
        stiffness_pa: contact stiffness of the object, as the pressure at its centre.
        human: a person is present.
    """

    values: Mapping[str, float]
    kind: str
    thing: SceneObject
    stiffness_pa: float
    object_pose: np.ndarray
    goal_pose: np.ndarray
    fixtures: tuple[FixedBody, ...]
    human: bool
    visit: Visit | None

    @property
    def conditions(self) -> dict[str, str]:
        light = next(name for most, name in LIGHTS if self.values["lighting_intensity"] < most)
        return {"object": self.kind, "light": light, "human": "present" if self.human else "absent"}

    @property
    def gravity_m_s2(self) -> np.ndarray:
        tilt = np.deg2rad([self.values["gravity_tilt_deg.x"], self.values["gravity_tilt_deg.y"]])
        down = np.array([*np.sin(tilt), np.cos(np.hypot(*tilt))])
        return -9.81 * down / np.linalg.norm(down)


def situation_of(cell: CellConfig, episode: int) -> CellLayout:
    rng = episode_rng(cell.seed, episode, stream="situation")
    values = chosen(cell, rng)
    item = cell.pool[int(rng.integers(len(cell.pool)))]
    thing = item.solid(mass_scale=values["object_mass_scale"], size_scale=values["object_size_scale"])
    fixed = {name: np.array([value]) for name, value in values.items()}
    # The object is already scaled.
    columns = nominal_values(1) | fixed | {"object_size_scale": np.ones(1)}
    start = PICK_AND_PLACE.start(columns, 1, PICK_AND_PLACE.with_object(thing).by_name)
    human = bool(rng.random() < values["human_present_share"])
    at_s, angle = float(rng.uniform(0.4, 1.4)), rng.uniform(0, 2 * np.pi)
    shift_m = values["human_shift_cm"] / 100 * np.array([np.cos(angle), np.sin(angle), 0])
    return CellLayout(
        values=values if human else values | {"human_hiding_share": 0.0},
        kind=item.kind,
        thing=thing,
        stiffness_pa=item.stiffness_pa,
        object_pose=start.poses["object"][0],
        goal_pose=start.poses["goal"][0],
        fixtures=tuple(_fixtures(columns, start)),
        human=human,
        visit=Visit(at_s, shift_m) if human and values["human_shift_cm"] > 0 else None,
    )


def _fixtures(columns: Mapping[str, np.ndarray], start: Start):
    places = clutter_poses(columns, start)[0]
    for (name, (shape, half, _, _)), place in zip(THINGS.items(), places, strict=True):
        if place[2] > -0.2:  # unused clutter is placed below this height
            size = (half[0], half[2], 0.0) if shape == "cylinder" else half
            x, y, z = map(float, place)
            yield FixedBody(f"clutter/{name}", mujoco.mjtGeom(GEOM_TYPES[shape]).value, size, (x, y, z))
