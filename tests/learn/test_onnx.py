"""ONNX files give the results of torch without torch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.learn.fork_and_spot import CAMERA
from tests.learn.test_policies import SMALL
from twinloop.cli import main
from twinloop.errors import CheckpointError
from twinloop.learn import onnx as exporting
from twinloop.learn.checkpoint import load
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.onnx import OnnxParity, export_onnx
from twinloop.learn.onnx_runtime import METADATA, OnnxRuntime
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.policies import POLICIES
from twinloop.learn.policy import Policy
from twinloop.learn.scales import scales_of
from twinloop.learn.space import DEFAULT_INPUTS, Space
from twinloop.learn.torch_runtime import TorchRuntime
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.observe.recording import Feature

onnx = pytest.importorskip("onnx", reason="needs twinloop[learn]")
pytest.importorskip("onnxscript", reason="needs twinloop[learn]")
pytest.importorskip("onnxruntime", reason="needs twinloop[learn]")

Exported = tuple[Policy, Space, OnnxParity]


@pytest.fixture(scope="module", params=POLICIES)
def exported(request: pytest.FixtureRequest, reached: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Of each kind, one that reads all it can read."""
    demonstrations = load_demonstrations(reached, DEFAULT_INPUTS)
    space = demonstrations.space
    if request.param != "mlp":
        space = replace(space, inputs=(*space.inputs, Feature(CAMERA, "video", (40, 56, 3))))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        scales = scales_of([demonstrations], [1.0], 4)
        # Every step of flow is exported anew; two show the same as six.
        settings = SMALL[request.param] | ({"steps": 2} if request.param == "flow" else {})
        policy = POLICIES[request.param](space, scales, horizon=4, executed=3, **settings)
    path = tmp_path_factory.mktemp("onnx") / "policy.onnx"
    return policy, space, export_onnx(policy, space, path, card_digest="c0ffee", seed=1)


@pytest.fixture(scope="module")
def checkpoint(reached: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"width": 16, "depth": 1, "horizon": 4, "executed": 2}
    config = TrainingJobConfig((reached,), settings=settings, train=TrainConfig(steps=10, batch=32))
    return train(prepare(config), tmp_path_factory.mktemp("checkpoint")).checkpoint.path


@pytest.fixture(scope="module")
def content(checkpoint: Path) -> bytes:
    """The exported graph of the checkpoint. Exporting takes a second."""
    loaded = load(checkpoint)
    return exporting._graph(loaded.policy, loaded.card.space, "c0ffee", False).SerializeToString()


def observation(space: Space, count: int) -> dict[str, np.ndarray]:
    """As sensors give it: doubles, and pictures at the camera's size."""
    rng = np.random.default_rng(count)
    return {
        feature.name: rng.integers(0, 256, (count, *feature.shape), dtype=np.uint8)
        if feature.is_picture
        else rng.normal(size=(count, *feature.shape))
        for feature in space.inputs
    }


def test_both_runtimes_give_the_same_actions_for_any_batch_size(exported: Exported):
    policy, space, parity = exported
    assert parity.max_abs_difference <= parity.tolerance
    runtime, torch_brain = OnnxRuntime(parity.path, threads=1), TorchRuntime(space, policy)
    assert (runtime.space, runtime.horizon, runtime.executed) == (space, 4, 3)
    assert (runtime.card_digest, runtime.policy) == ("c0ffee", policy.name)
    for count, real in ((1, False), (5, True)):
        inputs: dict[str, Any] = {
            "instructions": ["go"] * count, "real": real,
            "noise": np.random.default_rng(0).normal(size=(count, 4, 2)),
        }  # fmt: skip
        seen = observation(space, count)
        result = runtime.chunks(seen, **inputs)
        assert result.shape == (count, 4, 2)
        np.testing.assert_allclose(result, torch_brain.chunks(seen, **inputs), atol=1e-5)
        inputs["real"] = not real
        assert np.abs(result - runtime.chunks(seen, **inputs)).max() > 1e-4


def test_the_file_does_not_depend_on_the_machine(exported: Exported):
    content = exported[2].path.read_bytes()
    assert str(Path(exporting.__file__).parent).encode() not in content
    assert b".py" not in content
    assert [file.name for file in exported[2].path.parent.iterdir()] == ["policy.onnx"]


def test_a_file_with_other_results_is_not_written(
    checkpoint: Path, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    loaded = load(checkpoint)
    graph = onnx.load_from_string(content)
    monkeypatch.setattr(exporting, "_graph", lambda *_: graph)
    export_onnx(loaded.policy, loaded.card.space, tmp_path / "same.onnx", card_digest="c0ffee", seed=1)
    for wrong in (0.01, float("nan")):
        with torch.no_grad():
            next(parameter for name, parameter in loaded.policy.named_parameters() if name == "leave.bias")[0] += wrong
        with pytest.raises(CheckpointError, match=r"other\.onnx: was not written.*differ by"):
            export_onnx(loaded.policy, loaded.card.space, tmp_path / "other.onnx", card_digest="c0ffee", seed=1)
    assert [file.name for file in tmp_path.iterdir()] == ["same.onnx"]


def test_the_command_writes_the_file_and_prints_the_difference(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["export", str(checkpoint), "--onnx", str(tmp_path / "robot" / "a.onnx"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert output["path"] == str(tmp_path / "robot" / "a.onnx")
    assert output["max_abs_difference"] <= output["tolerance"]
    runtime = OnnxRuntime(tmp_path / "robot" / "a.onnx")
    assert runtime.card_digest == output["card_digest"] == load(checkpoint).card.digest
    assert runtime.knows_real == load(checkpoint).card.knows_real
    assert main(["export", str(checkpoint)]) == 2
    assert "valid: --onnx" in capsys.readouterr().err
    assert main(["export", str(checkpoint), "--onnx", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_files_from_outside_are_refused_by_name(content: bytes, tmp_path: Path):
    file = tmp_path / "bad.onnx"
    with pytest.raises(CheckpointError, match=r"bad\.onnx: is not a file"):
        OnnxRuntime(file)
    file.write_bytes(b"\x80\x04pickle")
    with pytest.raises(CheckpointError, match=r"bad\.onnx: ONNX Runtime cannot load it"):
        OnnxRuntime(file)
    model = onnx.load_from_string(content)
    facts = json.loads(model.metadata_props[0].value)
    # Its numbers in another file, which might be any of this machine.
    onnx.save(model, file, save_as_external_data=True, location="numbers", size_threshold=0)
    with pytest.raises(CheckpointError, match=r"bad\.onnx: stores weights in external files"):
        OnnxRuntime(file)
    model = onnx.load(file)
    for change, problem in (
        ({"format_version": 99}, "metadata: format_version: is 99; this Twinloop reads version 1"),
        ({"horizon": None}, "metadata: horizon: is None; a whole number"),
        ({"space": facts["space"] | {"inputs": facts["space"]["inputs"][:1]}}, "its metadata lists observation.state"),
    ):
        model.metadata_props[0].value = json.dumps(facts | change)
        file.write_bytes(model.SerializeToString())
        with pytest.raises(CheckpointError, match=problem):
            OnnxRuntime(file)
    model.metadata_props[0].key = METADATA + "?"
    file.write_bytes(model.SerializeToString())
    with pytest.raises(CheckpointError, match="was not written by `twinloop export`"):
        OnnxRuntime(file)
