"""What Warp cannot do is refused before work starts, by name."""

import argparse
import sys

import pytest

from tests.conftest import SEED_RANGES
from twinloop.cli.arguments import add_backend, engine_of
from twinloop.errors import ModelError, UsageError
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.simulate import warp_support
from twinloop.simulate.engine import EngineConfig, refuse_unsupported
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.twin import Twin

WARP = EngineConfig("warp", "cpu")


def chosen(*words: str) -> EngineConfig:
    parser = argparse.ArgumentParser()
    add_backend(parser)
    return engine_of(parser.parse_args(words))


def test_the_engine_is_the_cpu_unless_asked():
    assert chosen() == EngineConfig("cpu", "")


def test_a_device_without_warp_is_refused():
    with pytest.raises(UsageError, match="only --backend warp has devices"):
        chosen("--device", "cuda:0")


def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, twin: Twin):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    warp_support.load_warp.cache_clear()
    with pytest.raises(UsageError, match=r"not installed; pip install 'twinloop\[warp\]'"):
        chosen("--backend", "warp")
    with pytest.raises(UsageError, match="not installed"):
        refuse_unsupported(WARP, twin, SEED_RANGES)
    # The CPU engine does not ask for it.
    refuse_unsupported(EngineConfig(), twin, SEED_RANGES)


@pytest.fixture
def _installed() -> None:
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed: pip install 'twinloop[warp]'")


@pytest.mark.usefixtures("_installed")
class TestInstalled:
    def test_a_device_is_found_or_named(self):
        assert chosen("--backend", "warp", "--device", "cpu") == WARP
        with pytest.raises(UsageError, match=r"--device 'tpu': valid here: cpu"):
            chosen("--backend", "warp", "--device", "tpu")

    def test_what_it_can_do_passes(self, twin: Twin):
        refuse_unsupported(WARP, twin, SEED_RANGES)

    def test_a_soft_object_is_refused(self, twin: Twin):
        soft = assemble(twin.robot, twin.task, OBJECTS["sponge"])
        with pytest.raises(UsageError, match="'sponge' is soft"):
            refuse_unsupported(WARP, soft, {})

    @pytest.mark.parametrize(
        ("name", "field"),
        [("solver_iterations", "opt.iterations"), ("solver_noslip_iterations", "opt.noslip_iterations")],
    )
    def test_a_parameter_that_cannot_differ_is_refused(self, twin: Twin, name: str, field: str):
        with pytest.raises(UsageError, match=rf"{name} \(sets {field}\)"):
            refuse_unsupported(WARP, twin, {**SEED_RANGES, name: Uniform(4, 20)})

    def test_a_drawn_shape_is_refused(self, twin: Twin):
        able = assemble(twin.robot, twin.task, twin.object, features=Features(shapes=True))
        with pytest.raises(UsageError, match=r"object_shape \(sets geom_type"):
            refuse_unsupported(WARP, able, {"object_shape": Constant(1.0)})

    def test_a_model_that_it_cannot_simulate_is_refused(self, twin: Twin):
        from dataclasses import replace

        model = twin.model.__copy__()
        model.opt.solver = 0  # projected Gauss-Seidel
        with pytest.raises(ModelError, match="franka_panda in task pick_and_place has what MuJoCo Warp cannot"):
            refuse_unsupported(WARP, replace(twin, model=model), {})
