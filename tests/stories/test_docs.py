"""The commands and code in README and docs run, and generated pages are current."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.calibrate.made import command, logs_of_truth, write_json, xl330
from tests.forked_servers import forked_servers
from tests.pages import blocks, run_commands, run_python
from tests.short_episodes import short_episodes
from twinloop.cli import main
from twinloop.cli.commands import COMMANDS
from twinloop.dashboard.effects.looks import range_of
from twinloop.dataset import Dataset
from twinloop.dataset.people.consent import read_consent
from twinloop.deploy.description import description_of
from twinloop.deploy.rehearsal.cell_file import cell_of
from twinloop.deploy.safety.bounds import bounds_of, narrowed
from twinloop.errors import RenderError
from twinloop.gate.rules import load_rules
from twinloop.observe.gl import context
from twinloop.randomize.table import TABLE
from twinloop.twin.twin import Twin

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    """The expert needs less. Most policies of the pages fail here, because they are trained in a few steps."""
    with short_episodes("pick_and_place", 6.5), forked_servers():
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples in it, where the README's commands have been run."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (commands,) = blocks(README, "sh")
    # A few episodes show the same as five hundred.
    fewer = {
        "--episodes 500": "--episodes 48",
        "--steps 1000": "--steps 2",
        "--episodes 200": "--episodes 4 --clips 1",
        "--episodes 1000": "--episodes 12",
    }
    for many, few in fewer.items():
        assert many in commands
        commands = commands.replace(many, few)
    run_commands(commands, folder)
    return folder


def test_the_commands_of_the_readme_run(place: Path):
    assert (place / "datasets" / "demo" / "meta" / "info.json").exists()


def test_the_python_of_the_readme_is_short_and_runs_as_a_script(place: Path):
    pytest.importorskip("pydrake", reason="Drake is not installed: pip install --no-deps drake")
    (script,) = blocks(README, "python")
    lines = [line for line in script.splitlines() if line.strip()]
    assert len(lines) <= 15
    assert [line for line in lines if "import " in line] == ["import twinloop as tl"]
    # Fewer steps and episodes run the same code.
    for many, few in {
        "steps=1000": "steps=2",
        "episodes=100": "episodes=4",
        "episodes=10)": "episodes=1, episode_timeout_s=2)",
    }.items():
        assert many in script
        script = script.replace(many, few)
    (place / "script.py").write_text(script)
    state = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=place, check=True, capture_output=True, text=True, env=state
    )
    shapes, in_twin, in_cell = done.stdout.splitlines()
    assert shapes == "(256, 22) (256, 8) (256, 22)"
    assert re.fullmatch(r"in the twin: \d of 4", in_twin)
    assert re.fullmatch(r"in the rehearsal cell: [01] of 1", in_cell)


def test_the_sql_and_python_of_the_dataset_page_run(place: Path):
    page = (ROOT / "docs" / "dataset.md").read_text()
    for commands in blocks(page, "sh"):
        run_commands(commands, place)
    for script in blocks(page, "python"):
        run_python(script, place)


def test_the_commands_and_python_of_the_cameras_page_run(place: Path):
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    page = (ROOT / "docs" / "cameras.md").read_text()
    (commands,), (script,), (config, _) = (blocks(page, language) for language in ("sh", "python", "yaml"))
    run_commands(commands, place)
    assert (place / "draws.png").stat().st_size > 50_000
    run_python(script, place)
    assert config in (ROOT / "examples" / "cameras.yaml").read_text()


def test_the_commands_of_the_visual_gap_page_run(tmp_path: Path):
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    export, restyle, *_ = blocks((ROOT / "docs" / "visual_gap.md").read_text(), "sh")
    commands = export + restyle
    # One episode and smaller films show the same.
    for many, few in {"--episodes 4": "--episodes 1", "--scale 4": "--scale 2"}.items():
        assert many in commands
        commands = commands.replace(many, few)
    run_commands(commands, tmp_path)
    assert Dataset.open(tmp_path / "datasets" / "both").stored == 2


def test_the_python_and_the_cell_of_the_rehearsal_page_run(tmp_path: Path):
    pytest.importorskip("pydrake", reason="Drake is not installed: pip install --no-deps drake")
    page = (ROOT / "docs" / "rehearsal.md").read_text()
    (script,), (cell,) = blocks(page, "python"), blocks(page, "yaml")
    (tmp_path / "mine.yaml").write_text(cell)
    run_python(script, tmp_path)
    assert cell_of(str(tmp_path / "mine.yaml")).truth["friction_coefficient"] == (0.4, 0.4)


def test_the_commands_of_the_look_page_run(place: Path):
    pytest.importorskip("rerun", reason="needs twinloop[view]")
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    (commands,) = blocks((ROOT / "docs" / "look.md").read_text(), "sh")
    run_commands(commands, place)
    for name in re.findall(r"--out (\S+\.(?:png|rrd))", commands):
        assert (place / name).stat().st_size > 20_000


def test_the_commands_and_python_of_the_learning_page_run(place: Path):
    page = (ROOT / "docs" / "learning.md").read_text()
    for commands in blocks(page, "sh"):
        for many, few in {
            "--episodes 300": "--episodes 40",
            "--steps 200": "--steps 2",
            "--steps 50": "--steps 2",
        }.items():
            commands = commands.replace(many, few)
        run_commands(commands, place)
    for script in blocks(page, "python"):
        run_python(script, place)


def test_the_commands_of_the_calibrating_page_run(tmp_path: Path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for folder, kind in (("bench", 0), ("bench", 2), ("unseen", 1)):
        (log,) = logs_of_truth(xl330(), {"pendulum.resistance_ohm": 2.2}, seed=1, asked=[command(kind, 200)])
        write_json(log, tmp_path / "logs" / folder)
    (commands,) = blocks((ROOT / "docs" / "calibrating.md").read_text(), "sh")
    # Two parameters show the same as all.
    commands = commands.replace("--out patch.yaml", "--fit resistance_ohm coulomb_nm --out patch.yaml")
    run_commands(commands, tmp_path)
    assert "<svg" in (tmp_path / "replay.html").read_text()
    assert "joint_friction_nm" in (tmp_path / "patch.yaml").read_text()


def test_the_commands_python_and_limits_of_the_deploying_page_run(
    place: Path, twin: Twin, capsys: pytest.CaptureFixture[str]
):
    page = (ROOT / "docs" / "deploying.md").read_text()
    (commands,), (script,), (limits,) = (blocks(page, language) for language in ("sh", "python", "yaml"))
    state = {"XDG_STATE_HOME": str(place / "state")}
    # One episode shows the same as two.
    for many, few in {"--episodes 2 ": "--episodes 1 ", "--first 2 ": "--first 1 "}.items():
        assert many in commands
        commands = commands.replace(many, few)
    run_commands(commands, place, environment=state)
    capsys.readouterr()
    run_python(script, place, environment=state)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["candidate", "control"]
    (place / "narrow.yaml").write_text(limits)
    bounds = bounds_of(description_of(twin, id="twin", lockstep=True))
    assert narrowed(bounds, place / "narrow.yaml").force_n == 60


def test_the_commands_of_the_collecting_page_run_and_its_consent_is_valid(place: Path, tmp_path: Path):
    page = (ROOT / "docs" / "collecting.md").read_text()
    (commands,), (consent,) = blocks(page, "sh"), blocks(page, "yaml")
    run_commands(commands, place, environment={"XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    verdicts = Dataset.open(place / "runlogs" / "demos").attempts()["verdict"].to_pylist()
    assert verdicts.count("forgotten") == 1
    (tmp_path / "consent.yaml").write_text(consent)
    assert read_consent(tmp_path / "consent.yaml").participant == "P017"


def test_the_commands_and_python_of_the_statistics_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = (ROOT / "docs" / "statistics.md").read_text()
    rates = {f"policy-{place}": {"successes": 3 * place, "trials": 20} for place in range(1, 7)}
    (tmp_path / "pairs.json").write_text(json.dumps({"real": {"pick": rates}, "sim": {"pick": rates}}))
    (commands,), (script,) = blocks(page, "sh"), blocks(page, "python")
    run_commands(commands, tmp_path)
    assert (tmp_path / "trust.html").stat().st_size > 5000
    capsys.readouterr()
    run_python(script, tmp_path)
    assert capsys.readouterr().out.startswith(("accept", "continue"))


def test_the_config_of_the_readme_is_the_example():
    (config,) = blocks(README, "yaml")
    schema_line, example = (ROOT / "examples" / "pick_and_place.yaml").read_text().split("\n", 1)
    assert schema_line == "# yaml-language-server: $schema=../docs/schema/run.json"
    assert config.split("\n", 1)[1] == example


def test_generated_pages_are_up_to_date():
    spec = spec_from_file_location("build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = module_from_spec(spec)
    spec.loader.exec_module(build)
    for name, page in build.PAGES.items():
        assert (ROOT / "docs" / name).read_text() == page(), f"run `make docs`: {name} is out of date"


def test_the_gate_page_lists_every_rule_with_its_default():
    page = (ROOT / "docs" / "gate.md").read_text()
    table = dict(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (\S+) \| \S.* \|$", page, re.MULTILINE))
    defaults = {f"{part}.{key}": value for part, rules in asdict(load_rules()).items() for key, value in rules.items()}
    assert {key: json.loads(value) for key, value in table.items()} == defaults


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    output = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"twinloop {command}" in output
    assert "examples:" in output
    assert "--json" in output


def test_every_parameter_has_an_image_on_the_page():
    rows = ROOT / "docs" / "pictures" / "rows"
    index = json.loads((rows / "index.json").read_text())
    page = (ROOT / "docs" / "parameters.md").read_text()
    assert list(index) == [row.name for row in TABLE], "run `make pictures`"
    for row in TABLE:
        entry = index[row.name]
        assert entry["range"] == list(range_of(row)), f"run `make pictures`: {row.name} has another range now"
        assert entry["clearness"] >= 1, f"{row.name} does nothing that could be seen"
        assert 500 < (rows / entry["file"]).stat().st_size < 26_000
        assert f"](pictures/rows/{entry['file']})" in page
        assert f"](#{row.name})" in page
    assert {file.name for file in rows.iterdir()} == {entry["file"] for entry in index.values()} | {"index.json"}


PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_images_exist(page: str):
    file = ROOT / page
    for link in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
        assert link.startswith("https://") or (file.parent / link).exists(), link


def test_no_placeholder_is_left_in_the_docs():
    for name in ("benchmarks", "diagnosing", "statistics", "scale"):
        assert not re.search(r"\{[A-Za-z_]+(\.[a-z_]+)?\}", (ROOT / "docs" / f"{name}.md").read_text())
