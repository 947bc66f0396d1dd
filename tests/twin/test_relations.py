"""Relations hold exactly where they say, and progress grows towards 1."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from twinloop.twin import relations
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import about
from twinloop.twin.soft import axes_of


@dataclass
class Desk:
    """A batch of scenes with a cup and a plate, both of 2 x 3 x 4 cm, and a drawer."""

    cup_m: np.ndarray
    plate_m: np.ndarray = field(default_factory=lambda: np.zeros((1, 3)))
    cup_quat: np.ndarray = field(default_factory=lambda: np.array([[1.0, 0, 0, 0]]))
    opening: float = 0.0
    speed: float = 0.0
    fingers_n: tuple[float, float] = (0.0, 0.0)
    tool_position: np.ndarray = field(default_factory=lambda: np.zeros((1, 3)))
    tool_axes: np.ndarray = field(default_factory=lambda: np.eye(3)[None])
    table_height_m: np.ndarray = field(default_factory=lambda: np.zeros(1))
    support_force_n: np.ndarray = field(default_factory=lambda: np.zeros(1))
    shoulder_m: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @property
    def finger_force_n(self) -> np.ndarray:
        return np.tile(self.fingers_n, (len(self.cup_m), 1))

    def of_arm(self, name: str) -> "Desk":
        raise AssertionError(f"no arm {name}")

    def position(self, name: str) -> np.ndarray:
        return self.cup_m if name == "cup" else np.broadcast_to(self.plate_m, self.cup_m.shape)

    def axes(self, name: str) -> np.ndarray:
        quat = self.cup_quat if name == "cup" else np.array([[1.0, 0, 0, 0]])
        return axes_of(np.broadcast_to(quat, (len(self.cup_m), 4)))

    def value(self, name: str) -> np.ndarray:
        assert name == "drawer"
        return np.full(len(self.cup_m), self.opening)

    def speed_m_s(self, name: str) -> np.ndarray:
        assert name == "cup"
        return np.full(len(self.cup_m), self.speed)

    def half_extents_m(self, name: str) -> np.ndarray:
        assert name in ("cup", "plate")
        return np.tile([0.01, 0.015, 0.02], (len(self.cup_m), 1))

    def rest_height_m(self, name: str) -> np.ndarray:
        return self.half_extents_m(name)[:, 2]


def desk(*places: tuple[float, float, float], **state) -> Desk:
    return Desk(np.array(places), **state)


LYING = np.array([[np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]])  # turned by 90 degrees about x

CASES: dict[str, tuple[Relation, Desk, Desk]] = {
    "at": (relations.at("cup", "plate", within_m=0.05), desk((0.03, 0.03, 0.025)), desk((0.04, 0.04, 0.02))),
    "at, too high": (relations.at("cup", "plate", within_m=0.05), desk((0, 0, 0.02)), desk((0, 0, 0.04))),
    "on": (relations.on("cup", "plate"), desk((0.01, 0, 0.04)), desk((0.03, 0, 0.04))),
    "on, lying": (
        relations.on("cup", "plate"), desk((0, 0, 0.035), cup_quat=LYING), desk((0, 0, 0.05), cup_quat=LYING)
    ),
    "inside": (
        relations.inside("cup", "plate", (0.1, 0.05, 0.02)), desk((0.09, -0.04, 0.01)), desk((0.04, 0.09, 0.01))
    ),
    "opened": (relations.opened("drawer", 0.1), desk((0, 0, 0), opening=0.1), desk((0, 0, 0), opening=0.09)),
    "closed": (
        relations.opened("drawer", 0.02, less=True), desk((0, 0, 0), opening=0.01), desk((0, 0, 0), opening=0.03)
    ),
    "turned": (relations.turned("drawer", 1.0), desk((0, 0, 0), opening=1.1), desk((0, 0, 0), opening=0.9)),
    "upright": (relations.upright("cup"), desk((0, 0, 0)), desk((0, 0, 0), cup_quat=LYING)),
    "held": (relations.held("cup"), desk((0, 0, 0.05), fingers_n=(2, 3)), desk((0, 0, 0.05), fingers_n=(0.5, 3))),
    "held, away": (relations.held("cup"), desk((0, 0, 0.05), fingers_n=(2, 3)), desk((0, 0, 0.2), fingers_n=(2, 3))),
    "let go": (relations.let_go("cup"), desk((0, 0, 0)), desk((0, 0, 0), fingers_n=(0.0, 1.0))),
    "at rest": (relations.at_rest("cup"), desk((0, 0, 0), speed=0.01), desk((0, 0, 0), speed=0.2)),
    "lifted": (relations.lifted("cup", 0.1), desk((0, 0, 0.121)), desk((0, 0, 0.11))),
    "lifted, lying": (
        relations.lifted("cup", 0.1), desk((0, 0, 0.116), cup_quat=LYING), desk((0, 0, 0.114), cup_quat=LYING)
    ),
    "touching": (
        relations.touching("cup", "plate", within_m=0.05), desk((0, 0.04, 0.0)), desk((0, 0.04, 0.04))
    ),
    "clear": (relations.tool_clear("cup", 0.1), desk((0, 0, 0.2)), desk((0, 0, 0.05))),
    "share": (
        relations.share_inside(("cup", "plate"), "plate", (0.1, 0.1, 0.1), 0.6),
        desk((0, 0, 0.05)), desk((0, 0, 0.2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_holds_in_one_scene_and_not_in_the_other(case: str):
    relation, yes, no = CASES[case]
    assert relation.holds(yes).tolist() == [True]
    assert relation.holds(no).tolist() == [False]
    assert relation.progress(yes).tolist() == [1.0]
    assert (relation.progress(no) < 1).all()
    assert (relation.progress(no) >= 0).all()
    assert "." not in relation.name


@pytest.mark.parametrize("relation", [
    relations.at("cup", "plate", within_m=0.02), relations.on("cup", "plate"),
    relations.inside("cup", "plate", (0.01, 0.01, 0.05)), relations.touching("cup", "plate", within_m=0.02),
], ids=lambda relation: relation.name)  # fmt: skip
def test_progress_grows_on_the_way(relation: Relation):
    away = np.linspace(0.5, 0.05, 20)
    scene = Desk(np.column_stack([away, np.zeros(20), np.full(20, 0.02)]))
    assert (np.diff(relation.progress(scene)) > 0).all()


def test_a_point_of_an_entity_turns_with_it():
    quarter = about(np.array([0, 0, 1.0]), np.array([np.pi / 2]))
    scene = desk((1.0, 2.0, 3.0), cup_quat=np.array([[np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)]]))
    np.testing.assert_allclose(scene.axes("cup"), quarter, atol=1e-12)
    np.testing.assert_allclose(relations.point_of(scene, "cup", (0.1, 0, 0)), [[1.0, 2.1, 3.0]], atol=1e-12)
