"""SceneState: poses of a scene's entities by name, for n scenes at once. Base of cells and robot views."""

from typing import cast

import numpy as np

from twinloop.simulate.view import View
from twinloop.twin.rotation import dot, length
from twinloop.twin.soft import axes_of
from twinloop.twin.twin import Twin


class SceneState:
    """Poses by name. Subclasses fill `_position`, `_quat`, `_value`, `_velocity` and `_frames` and call `_changed`.

    Arrays may be live views of an engine's state. Callers must not write to what is returned.
    """

    def __init__(self, twin: Twin, *, width: int):
        self.twin, self.width = twin, width
        self._position: dict[str, np.ndarray] = {}
        self._quat: dict[str, np.ndarray] = {}
        self._value: dict[str, np.ndarray] = {}
        self._velocity: dict[str, np.ndarray] = {}
        self._half_extents_m = {
            index.name: np.tile(np.array(index.object.half_extents_m), (width, 1)) for index in twin.things
        }
        self._form = {index.name: np.zeros(width, int) for index in twin.things}
        self._none = np.zeros((width, 3))
        self._roles = {role.name: role.candidates for role in twin.task.roles}
        self._chosen = {role: np.zeros(width, int) for role in self._roles}
        self._every = np.arange(width)
        self._axes: dict[str, np.ndarray] = {}
        self._role_position: dict[str, np.ndarray] = {}
        self.shoulder_m = twin.shoulders_m[0]

    @property
    def arms(self) -> tuple[View, ...]:
        """The view of each arm. One arm sees the whole scene."""
        return (cast(View, self),)

    def of_arm(self, name: str) -> View:
        return next(view for index, view in zip(self.twin.arms, self.arms, strict=True) if index.name == name)

    def _changed(self) -> None:
        """Forget what was computed from the last state."""
        self._axes.clear()
        self._role_position.clear()

    def _frame_position(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def _frame_axes(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def _played(self, role: str, values: list[np.ndarray]) -> np.ndarray:
        """The rows of the candidates that play a role."""
        return np.stack(values)[self._chosen[role], self._every]

    def _candidates(self, name: str) -> tuple[str, list[str]]:
        """The role in a name, or "", and the names that it stands for."""
        role, dot, frame = name.partition(".")
        if role not in self._roles:
            return "", [name]
        return role, [candidate + dot + frame for candidate in self._roles[role]]

    def position(self, name: str) -> np.ndarray:
        if name in self._position:
            return self._position[name]
        if name not in self._role_position:
            role, names = self._candidates(name)
            if not role:
                return self._frame_position(name)
            self._role_position[name] = self._played(role, [self.position(played) for played in names])
        return self._role_position[name]

    def axes(self, name: str) -> np.ndarray:
        if name not in self._axes:
            role, names = self._candidates(name)
            if role:
                self._axes[name] = self._played(role, [self.axes(played) for played in names])
            else:
                self._axes[name] = axes_of(self._quat[name]) if name in self._quat else self._frame_axes(name)
        return self._axes[name]

    def value(self, name: str) -> np.ndarray:
        if name in self._roles:
            return self._played(name, [self._value[played] for played in self._roles[name]])
        return self._value[name]

    def speed_m_s(self, name: str) -> np.ndarray:
        if name in self._roles:
            return self._played(name, [self.speed_m_s(played) for played in self._roles[name]])
        return length(self._velocity[name])

    def half_extents_m(self, name: str) -> np.ndarray:
        if name in self._roles:
            return self._played(name, [self.half_extents_m(played) for played in self._roles[name]])
        # Fixtures have no extents of their own: things rest on their frames.
        return self._half_extents_m.get(name, self._none)

    def rest_height_m(self, name: str) -> np.ndarray:
        """(n,) height of a thing's upper side above its centre; 0 for fixtures and frames."""
        extents = self.half_extents_m(name)
        if extents is self._none:
            return self._none[:, 0]
        return dot(np.abs(self.axes(name)[:, 2, :]), extents)

    def form(self, name: str) -> np.ndarray:
        """(n,) which of its shapes a thing has."""
        if name in self._roles:
            return self._played(name, [self._form[played] for played in self._roles[name]])
        return self._form[name]

    def entity_of(self, name: str) -> tuple[str, ...]:
        """The entities that a name may stand for."""
        return tuple(dict.fromkeys(self._roles.get(name, (name,))))

    def played_by(self, name: str, entity: str) -> np.ndarray:
        """(n,) whether a name stands for this entity."""
        if name not in self._roles:
            return np.full(self.width, name == entity)
        return np.array([candidate == entity for candidate in self._roles[name]])[self._chosen[name]]
