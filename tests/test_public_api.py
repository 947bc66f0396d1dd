"""The public API: its names are pinned, each has a docstring with an example that runs, and importing it is cheap."""

import doctest
import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from tests.calibrate.made import command, logs_of_truth, write_json, xl330
from tests.forked_servers import forked_servers
from tests.short_chains import short_chains
from tests.short_episodes import short_episodes

ROOT = Path(__file__).parents[1]

FUNCTIONS = (
    "load_config", "explain", "generate", "train", "finetune", "value", "evaluate", "promote", "rollback", "deploy",
    "diagnose", "plan", "calibrate", "loop",
    "make_env", "reinforce",
)  # fmt: skip
CLASSES = (
    "RunConfig", "Dataset", "Checkpoint", "Robot", "Task", "Parameter", "Check", "Policy", "LiveRobot", "Executor",
)  # fmt: skip
ERRORS = (
    "TwinloopError", "UsageError", "ConfigError", "PluginError", "DatasetError", "CheckpointError", "RegistryError",
    "RobotError",
)  # fmt: skip
NAMES = (*FUNCTIONS, *CLASSES, *ERRORS)

CELL = """\
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics:
    object_mass_kg: [0.05, 0.4]
    friction_coefficient: [0.2, 1.1]
    object_position_noise_cm: [-0.2, 0.2]
rollout: {parallel_envs: 16, episodes_per_env: 3, timestep_ms: 5}
"""


def test_the_public_names_are_these():
    assert tuple(tl.__all__) == NAMES
    assert set(dir(tl)) == {*NAMES, "__version__"}


def test_an_unknown_name_is_an_attribute_error_that_lists_the_public_names():
    with pytest.raises(AttributeError, match=r"has no attribute 'genrate'.*load_config, explain, generate"):
        _ = tl.genrate  # pyright: ignore[reportAttributeAccessIssue]


def test_a_function_wins_over_the_folder_of_its_name():
    script = "import twinloop.deploy.session, twinloop.calibrate.fit, twinloop.diagnose.plan; import twinloop as tl; "
    script += "print(callable(tl.deploy), callable(tl.calibrate), callable(tl.diagnose))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "True"]


def test_importing_twinloop_takes_no_time_and_no_package():
    script = (
        "import sys, time, json; before = set(sys.modules); start = time.process_time(); import twinloop; "
        "taken = time.process_time() - start; print(json.dumps([taken, sorted({name.partition('.')[0] "
        "for name in set(sys.modules) - before} - set(sys.stdlib_module_names))]))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds, packages = json.loads(done.stdout)
    assert seconds < 0.2
    assert packages == ["twinloop"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_types_and_describes_its_arguments(name: str):
    function = getattr(tl, name)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in (inspect.getdoc(function) or "")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "cell.yaml").write_text(CELL)
    (log,) = logs_of_truth(xl330(), {"pendulum.resistance_ohm": 2.2}, seed=1, asked=[command(0, 200)])
    write_json(log, folder / "logs")
    for name in ("xl330_bench.yaml", "xl330_bench.xml"):
        (folder / name).write_text((ROOT / "examples" / name).read_text())
    (folder / "xl330_bench.yaml").rename(folder / "bench.yaml")
    return folder


# In this order: an example may use the result of an earlier one.
EXAMPLES = (
    "load_config", "explain", "generate", "RunConfig", "Dataset", "train", "Checkpoint", "finetune", "value",
    "evaluate", "promote", "rollback", "deploy", "diagnose", "plan", "calibrate", "loop", "Robot", "Task", "Parameter",
    "make_env", "reinforce",
    "Check", "Policy", "LiveRobot", "Executor", *ERRORS,
)  # fmt: skip


@pytest.mark.slow
def test_the_example_of_every_name_runs(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace / "state"))
    assert sorted(EXAMPLES) == sorted(NAMES)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    parser, output = doctest.DocTestParser(), []
    # The policy is trained in a few steps. One that fails need not do so for 20 s.
    with short_episodes("pick_and_place", 5.5), short_chains(), forked_servers():
        for name in EXAMPLES:
            text = inspect.getdoc(getattr(tl, name)) or ""
            example = parser.get_doctest(text, {"tl": tl, "np": np}, name, None, None)
            assert example.examples, f"tl.{name} has no example in its docstring"
            runner.run(example, out=output.append)
            assert not runner.failures, "".join(output)
