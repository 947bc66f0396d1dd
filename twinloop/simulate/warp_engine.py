"""MuJoCo Warp: the same model in single precision. All simulations run in one launch, on a GPU or (for tests) a CPU.

The host keeps state, model fields and constants, which the cell reads and writes, in a batch of the CPU engine that
never steps. A call copies all of them to the device, runs, and copies the requested rows back. The other simulations
do not change. So an episode does not depend on its neighbours or on the slot's previous episode.
"""

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp
from mujoco.batch import MODEL_FIELDS, Batch, SimulationError

from twinloop.simulate.engine import MOST_CONTACTS, MOST_ROWS
from twinloop.simulate.warp_support import device_model, is_per_world, put_model

LARGEST = 1e10  # the CPU engine calls a larger state bad
MOST_CONVEX = 16  # maximum pairs of a simulation that use general convex collision

STATE = ("time", "qpos", "qvel", "act", "history", "ctrl", "mocap_pos", "mocap_quat")
ADVANCED = ("qpos", "qvel", "act", "history")  # state fields that a step changes, except time
PLACED = frozenset(("body_pos", "body_quat", "geom_pos", "geom_quat"))


class WarpEngine:
    """The Warp engine. `make_engine` creates it for models that `twinloop.simulate.warp_support` does not refuse."""

    def __init__(self, model: mujoco.MjModel, *, width: int, device: str):
        self._width, self._timestep_s = width, float(model.opt.timestep)
        self._host = Batch(model, width, 1)
        self._device = wp.get_device(device)
        ours = device_model(model)
        pairs = _pairs(model)
        with wp.ScopedDevice(self._device):
            self._model = put_model(ours)
            # Contacts, constraint rows and sums get a fixed order on every device.
            self._model.opt.deterministic = True
            # Printing from a kernel is slow, and `_bring` reads the overflow bits.
            self._model.opt.warn_overflow = False
            self._data = mjw.make_data(
                ours,
                nworld=width,
                nconmax=min(8 * pairs, MOST_CONTACTS),
                nccdmax=min(pairs, MOST_CONVEX),
                njmax=MOST_ROWS,
            )
            # Forces of the last step, because `step1` on the new state zeroes them.
            self._felt = wp.zeros_like(self._data.sensordata)
        self._state = {name: self._host.bind(name) for name in STATE if getattr(self._data, name).size}
        self._late = np.repeat(model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC.value, model.sensor_dim)
        self._fixed = _fixed_geoms(model)
        # Bound before anything is computed, because an array that is bound later holds zeros at first.
        self._places = {name: self._host.bind(name) for name in ("geom_xpos", "geom_xmat")}
        self._outputs: dict[str, np.ndarray] = {}
        self._varying: list[str] = []
        self._taken: dict[str, np.ndarray] = {}
        self._graphs: dict[int, wp.Graph] = {}
        self._failed = np.zeros(width, bool)

    def bind(self, field: str) -> np.ndarray:
        if field in STATE:
            return self._host.bind(field)
        if field not in self._outputs:
            shape = self._host.bind(field).shape
            self._outputs[field] = np.zeros(shape)
        return self._outputs[field]

    def expand(self, field: str) -> np.ndarray:
        assert is_per_world(field), field
        values = self._host.expand(field)
        self._note_varying()
        return values

    def read_forces_every(self, substeps: int) -> None:
        """Do nothing: all sensors are read in every step."""

    def reset(self, ids: np.ndarray) -> None:
        self._host.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._failed[ids] = False

    def set_const(self, ids: np.ndarray) -> None:
        try:
            self._host.set_const(ids)
        except SimulationError as error:
            self._failed[error.ids] = True
        self._note_varying()

    def forward(self, ids: np.ndarray) -> None:
        with wp.ScopedDevice(self._device):
            self._take()
            if not PLACED.isdisjoint(self._varying):
                self._place_fixed(ids)
            mjw.forward(self._model, self._data)
            wp.copy(self._felt, self._data.sensordata)
            self._bring(ids)

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        rows = slice(None) if ids is None else ids
        with wp.ScopedDevice(self._device):
            self._take()
            if substeps in self._graphs:
                wp.capture_launch(self._graphs[substeps])
            else:
                # The first run is without a graph, because it compiles and loads the kernels that a graph repeats.
                self._advance(substeps)
                with wp.ScopedCapture(self._device) as capture:
                    self._advance(substeps)
                assert capture.graph is not None
                self._graphs[substeps] = capture.graph
            self._keep_time(rows, substeps)
            for name in ADVANCED:
                if name in self._state:
                    self._state[name][rows] = self._read(name)[rows]
            self._bring(rows)

    def failed(self) -> np.ndarray:
        return self._failed.copy()

    def _advance(self, substeps: int) -> None:
        for _ in range(substeps):
            mjw.step(self._model, self._data)
        wp.copy(self._felt, self._data.sensordata)
        mjw.step1(self._model, self._data)

    def _keep_time(self, rows: slice | np.ndarray, substeps: int) -> None:
        """Compute time on the host in double precision.

        The device adds small steps in single precision and would lose several of them per minute.
        """
        passed = substeps * self._timestep_s
        time_s, now_s = self._state["time"], self._read("time").astype(float)
        exact = time_s + passed
        self._state["time"][rows] = np.where(np.abs(now_s - exact) < self._timestep_s / 2, exact, now_s)[rows]

    def _take(self) -> None:
        """Copy the state and all changed model fields to the device."""
        for name, values in self._state.items():
            getattr(self._data, name).assign(values.astype(np.float32))
        self._data.overflow.zero_()
        for field in self._varying:
            values = self._host.expanded(field)
            assert values is not None
            if field not in self._taken or not np.array_equal(self._taken[field], values):
                self._taken[field] = values.copy()
                self._put(field, values)

    def _place_fixed(self, ids: np.ndarray) -> None:
        """Copy the poses of fixed geoms to the device.

        Warp computes them once, but an episode may move them, e.g. the table.
        """
        try:
            self._host.forward(ids, stage=mujoco.mjtStage.mjSTAGE_POS.value)
        except SimulationError as error:
            self._failed[error.ids] = True
        cells = np.ix_(ids, self._fixed)
        for name, given in self._places.items():
            there = getattr(self._data, name)
            places = there.numpy().copy()
            places[cells] = given[cells].reshape(places[cells].shape)
            there.assign(places)

    def _note_varying(self) -> None:
        """Update the list of fields that differ between simulations: written fields and constants derived from them."""
        known = (field for field in MODEL_FIELDS if is_per_world(field))
        self._varying = [field for field in known if self._host.expanded(field) is not None]

    def _put(self, field: str, values: np.ndarray) -> None:
        owner, name = (self._model.opt, field[4:]) if field.startswith("opt.") else (self._model, field)
        if name == "impratio":
            name, values = "impratio_invsqrt", 1 / np.sqrt(values)
        there = getattr(owner, name)
        shaped = values.astype(np.float32 if values.dtype.kind == "f" else np.int32).reshape(-1, *_inner(there))
        if there.shape[0] == self._width:
            there.assign(shaped)
            return
        setattr(owner, name, wp.array(shaped, dtype=there.dtype))
        # Captured graphs refer to the old array.
        self._graphs.clear()

    def _read(self, name: str) -> np.ndarray:
        return getattr(self._data, name).numpy()

    def _bring(self, rows: slice | np.ndarray) -> None:
        for name, values in self._outputs.items():
            now = self._read(name)
            if name == "sensordata":
                now = np.where(self._late, self._felt.numpy(), now)
            values[rows] = now.reshape(values.shape)[rows]
        state = np.concatenate([self._state["qpos"], self._state["qvel"]], axis=1)
        # The comparison is negated because a comparison with NaN is false.
        bad = ~(np.abs(state) < LARGEST).all(axis=1) | (self._read("overflow") != 0)
        self._failed[rows] |= bad[rows]


def _inner(array: wp.array) -> tuple[int, ...]:
    """Shape of one simulation's part of an array, with the shape of its element type."""
    return (*array.shape[1:], *getattr(array.dtype, "_shape_", ()))


def _fixed_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Indices of geoms that are fixed to the world and not to a mocap body."""
    body = model.geom_bodyid
    return np.flatnonzero((model.body_weldid[body] == 0) & (model.body_mocapid[model.body_rootid[body]] < 0))


def _pairs(model: mujoco.MjModel) -> int:
    """Number of pairs of geoms that may touch, at least 1."""
    kind, accepts = model.geom_contype, model.geom_conaffinity
    meets = (kind[:, None] & accepts[None, :]) | (accepts[:, None] & kind[None, :])
    other = model.geom_bodyid[:, None] != model.geom_bodyid[None, :]
    return max(1, int(np.triu((meets != 0) & other).sum()) + model.npair)
