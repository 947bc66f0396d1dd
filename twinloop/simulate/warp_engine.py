"""MuJoCo Warp: the same model in single precision, all simulations in one launch, on a GPU or, to test it, a CPU.

The host keeps what the cell reads and writes: state, model fields and constants, in a batch of the CPU engine that
never steps. A call takes all of it to the device, runs, and brings back the rows it was asked for; a simulation that
was not is as it was. So an episode depends on nothing that a neighbour, or the slot's last episode, left behind.
"""

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp
from mujoco.batch import MODEL_FIELDS, Batch, SimulationError

from twinloop.simulate.engine import MOST_CONTACTS, MOST_ROWS
from twinloop.simulate.warp_support import device_model, is_per_world, put_model

LARGEST = 1e10  # beyond it the CPU engine calls a state bad
MOST_CONVEX = 16  # pairs of a simulation that take the general way of finding contacts

STATE = ("time", "qpos", "qvel", "act", "history", "ctrl", "mocap_pos", "mocap_quat")
ADVANCED = ("qpos", "qvel", "act", "history")  # of these, what a step changes; time apart
PLACED = frozenset(("body_pos", "body_quat", "geom_pos", "geom_quat"))


class WarpEngine:
    """Made by `make_engine`, for models that `twinloop.simulate.warp_support` has not refused."""

    def __init__(self, model: mujoco.MjModel, *, width: int, device: str):
        self._width, self._timestep_s = width, float(model.opt.timestep)
        self._host = Batch(model, width, 1)
        self._device = wp.get_device(device)
        ours = device_model(model)
        pairs = _pairs(model)
        with wp.ScopedDevice(self._device):
            self._model = put_model(ours)
            # In order, whatever the device: contacts, rows and sums.
            self._model.opt.deterministic = True
            # Printing from a kernel is slow, and the bits are read below.
            self._model.opt.warn_overflow = False
            self._data = mjw.make_data(
                ours,
                nworld=width,
                nconmax=min(8 * pairs, MOST_CONTACTS),
                nccdmax=min(pairs, MOST_CONVEX),
                njmax=MOST_ROWS,
            )
            # Forces as they were in the last step; looking at the state after it zeroes them.
            self._felt = wp.zeros_like(self._data.sensordata)
        self._state = {name: self._host.bind(name) for name in STATE if getattr(self._data, name).size}
        self._late = np.repeat(model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC.value, model.sensor_dim)
        self._fixed = _fixed_geoms(model)
        # Bound before anything is computed: an array bound later would hold zeros at first.
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
                # The first time as it comes, which compiles and loads what it takes; a graph can only repeat that.
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
        """The device adds up small steps in single precision; over a minute it would lose several of them."""
        passed = substeps * self._timestep_s
        time_s, now_s = self._state["time"], self._read("time").astype(float)
        exact = time_s + passed
        self._state["time"][rows] = np.where(np.abs(now_s - exact) < self._timestep_s / 2, exact, now_s)[rows]

    def _take(self) -> None:
        """Bring the device up to the host: the state always, of the model what has changed."""
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
        """Warp works out once where geoms are that never move. Here a table is where the episode has it."""
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
        """Fields that are written, and constants that follow from them: those of which the host keeps many."""
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
        # They know the array that was there before.
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
        # Not (a > b): a comparison with NaN is false.
        bad = ~(np.abs(state) < LARGEST).all(axis=1) | (self._read("overflow") != 0)
        self._failed[rows] |= bad[rows]


def _inner(array: wp.array) -> tuple[int, ...]:
    """The shape of one world's part, in numbers."""
    return (*array.shape[1:], *getattr(array.dtype, "_shape_", ()))


def _fixed_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Those that hang on the world, and on nothing that is moved from outside."""
    body = model.geom_bodyid
    return np.flatnonzero((model.body_weldid[body] == 0) & (model.body_mocapid[model.body_rootid[body]] < 0))


def _pairs(model: mujoco.MjModel) -> int:
    """Pairs of geoms that may touch."""
    kind, accepts = model.geom_contype, model.geom_conaffinity
    meets = (kind[:, None] & accepts[None, :]) | (accepts[:, None] & kind[None, :])
    other = model.geom_bodyid[:, None] != model.geom_bodyid[None, :]
    return max(1, int(np.triu((meets != 0) & other).sum()) + model.npair)
