"""ModelFields: the per-simulation values of model fields that rows of the parameter table write."""

from copy import copy

import mujoco
import numpy as np

from twinloop.simulate.engine import Engine


class ModelFields:
    """The model fields of a batch. `fields["body_mass"]` is (width, bodies).

    Attributes:
        engine: steps the physics.
    """

    def __init__(self, model: mujoco.MjModel, engine: Engine):
        self.engine, self._model = engine, model
        self._fields: dict[str, np.ndarray] = {}

    def __getitem__(self, field: str) -> np.ndarray:
        """The (width, ...) values of a model field. After the first access each slot has its own values."""
        if field not in self._fields:
            self._fields[field] = self.engine.expand(field)
        return self._fields[field]

    def varies(self, field: str) -> bool:
        """Whether the values of a model field may differ between slots."""
        return field in self._fields

    def varied_fields(self) -> frozenset[str]:
        return frozenset(self._fields)

    def restore(self, ids: np.ndarray) -> None:
        """Set the model's own values in slots `ids`."""
        for field, values in self._fields.items():
            source = self._model.opt if field.startswith("opt.") else self._model
            values[ids] = getattr(source, field.removeprefix("opt."))

    def model_of(self, slot: int) -> mujoco.MjModel:
        """A copy of the model with the values that the episode in this slot has drawn."""
        model = copy(self._model)
        for field, values in self._fields.items():
            owner = model.opt if field.startswith("opt.") else model
            # Assignment works for numbers and for arrays.
            setattr(owner, field.removeprefix("opt."), values[slot])
        return model
