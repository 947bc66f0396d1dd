"""The main commands, from a scene file to queries of the dataset."""

import json
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset

CONFIG = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  visual: {texture_pool: 200, lighting_intensity: [0.3, 1.8], camera_jitter_deg: [-5, 5]}
  physics:
    object_mass_kg: [0.05, 0.4]
    friction_coefficient: [0.2, 1.1]
    object_position_noise_cm: [-2, 2]
rollout: {parallel_envs: 64, episodes_per_env: 2}
dataset: {shard_episodes: 8}
"""


def twinloop(*words: str | Path, code: int = 0, cwd: Path | None = None) -> dict:
    """Run a command with --json in this process; its last line of output."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.chdir(cwd or Path.cwd())
        assert main([*map(str, words), "--json"]) == code, printed.getvalue()
    return json.loads(printed.getvalue().splitlines()[-1])


def program(*words: str, cwd: Path) -> str:
    """Run a command in a process of its own, as a user does; its output."""
    command = [sys.executable, "-m", "twinloop", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("story")
    (folder / "cell.yaml").write_text(CONFIG)
    output = program("generate", "cell.yaml", "--episodes", "40", "--json", cwd=folder)
    return folder, json.loads(output.splitlines()[-1])


def test_generate_reports_the_result(made):
    folder, output = made
    assert output["episodes"] == 40
    assert output["accepted"] + sum(output["rejected"].values()) == 40
    assert output["accepted"] >= 36
    assert output["path"] == "datasets/cell"
    assert len(output["digest"]) == 64
    assert output["trajectories_per_second"] > 0
    assert (folder / output["path"] / "report.html").stat().st_size > 10_000


def test_generate_prints_the_next_commands(made):
    folder, _ = made
    output = program("generate", "cell.yaml", "--episodes", "40", cwd=folder)
    commands = [line.split()[1:] for line in output.partition("Next:")[2].splitlines() if line]
    assert [words[0] for words in commands] == ["info", "query", "verify", "train"]
    assert commands[-1] == ["train", "datasets/cell", "--out", "policies/cell"]


def test_the_dataset_has_the_requested_content(made):
    folder, output = made
    dataset = Dataset.open(folder / output["path"])
    attempts = dataset.attempts()
    assert attempts["attempt"].to_pylist() == list(range(40))
    friction = attempts["draw/friction_coefficient"].to_numpy()
    assert 0.2 <= friction.min() < 0.3 < 1.0 < friction.max() <= 1.1
    textures = attempts["draw/texture_pool"].to_numpy()
    assert set(textures) <= set(range(200))
    assert len(set(textures)) > 25
    for column in (
        "seed",
        "config_digest",
        "version/mujoco",
        "verdict",
        "draw/camera_jitter_deg.yaw",
        "check/deep_penetration",
    ):
        assert column in attempts.column_names
    episode = dataset.episode(0)
    assert episode["observation.state"].shape[1] == episode["action"].shape[1] == 8
    assert episode["observation.environment_state"].shape[1] == 14
    assert episode["next.done"].tolist() == [False] * (len(episode["next.done"]) - 1) + [True]
    assert episode["next.success"][-1]


def test_the_export_is_a_lerobot_dataset(made):
    folder, output = made
    root = folder / output["path"]
    info = json.loads((root / "meta" / "info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert info["total_episodes"] == output["accepted"]
    assert info["total_frames"] == output["frames"]
    frames = pq.read_table(root / "data" / "chunk-000" / "file-000.parquet")
    assert frames["index"].to_pylist() == list(range(output["frames"]))
    stats = json.loads((root / "meta" / "stats.json").read_text())
    assert len(stats["action"]["q99"]) == 8


def test_state_action_next_state(made):
    folder, output = made
    batches = list(Dataset.open(folder / output["path"]).transitions(256, seed=0))
    assert sum(len(batch.state) for batch in batches) == output["frames"] - output["accepted"]
    step = np.abs(batches[0].next_state - batches[0].state)
    assert 0 < step[:, :7].max() < 0.2


def test_sql_queries(made):
    folder, output = made
    data = folder / output["path"]
    answer = twinloop("query", data, "select count(*) as n from frames")
    assert answer["rows"] == [{"n": output["frames"]}]
    answer = twinloop("query", data, "select verdict, count(*) as n from attempts group by verdict")
    assert {row["verdict"]: row["n"] for row in answer["rows"]}["accepted"] == output["accepted"]
    refused = twinloop("query", data, "select nothing from frames", code=2)
    assert "nothing" in refused["error"]
    twinloop("query", data, "select * from read_text('/etc/hostname')", code=2)


def test_info_and_verify(made):
    folder, output = made
    data = folder / output["path"]
    assert twinloop("info", data)["digest"] == output["digest"]
    assert twinloop("verify", data)["ok"]


def test_a_second_run_changes_nothing_and_more_episodes_continue_it(made, tmp_path: Path):
    (tmp_path / "cell.yaml").write_text(CONFIG)
    _folder, output = made
    # One worker makes the same dataset as the two of the first run.
    words = ["generate", "cell.yaml", "--workers", "1", "--episodes"]
    twinloop(*words, "20", cwd=tmp_path)
    grown = twinloop(*words, "40", cwd=tmp_path)
    assert grown["digest"] == output["digest"]
    again = twinloop(*words, "40", cwd=tmp_path)
    assert again["digest"] == output["digest"]
    assert again["trajectories_per_second"] == 0


def test_another_config_is_not_mixed_in(made):
    folder, output = made
    (folder / "other.yaml").write_text(CONFIG.replace("1.1", "1.2"))
    refused = twinloop("generate", "other.yaml", "--out", output["path"], cwd=folder, code=1)
    assert "config" in refused["error"]
    assert twinloop("verify", folder / output["path"])["digest"] == output["digest"]


def test_a_folder_with_other_files_is_refused(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work")
    refused = twinloop("generate", "--episodes", "1", "--out", tmp_path, code=1)
    assert str(tmp_path) in refused["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_merge_joins_runs(made, tmp_path: Path):
    folder, output = made
    twinloop("generate", "cell.yaml", "--episodes", "8", "--seed", "9", "--out", tmp_path / "nine", cwd=folder)
    both = twinloop("merge", folder / output["path"], tmp_path / "nine", "--out", tmp_path / "both")
    assert twinloop("verify", tmp_path / "both")["digest"] == both["digest"]
    assert twinloop("info", tmp_path / "both")["episodes"]["attempted"] == 48


def test_rejected_episodes_are_counted_and_kept_only_when_asked(tmp_path: Path):
    (tmp_path / "slippery.yaml").write_text(
        CONFIG.replace("[0.2, 1.1]", "[0.01, 0.02]").replace("[0.05, 0.4]", "[0.3, 0.4]")
    )
    lost = twinloop("generate", "slippery.yaml", "--episodes", "8", "--out", "lost", cwd=tmp_path)
    assert lost["accepted"] == 0
    assert lost["frames"] == 0
    assert sum(lost["rejected"].values()) == 8
    kept = twinloop("generate", "slippery.yaml", "--episodes", "8", "--out", "kept", "--keep-rejected", cwd=tmp_path)
    assert kept["accepted"] == 0
    assert kept["frames"] > 0
    assert kept["rejected"] == lost["rejected"]
    dataset = Dataset.open(tmp_path / "kept")
    assert "accepted" not in dataset.attempts()["verdict"].to_pylist()
    assert list(dataset.transitions(64, seed=0)) == []


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["generate", "gone.yaml"], 2, "gone.yaml: no such file"),
        (["generate", "--out", "/proc/nowhere", "--episodes", "1"], 1, "/proc/nowhere"),
        (["info", "gone"], 1, "gone"),
        (["verify", "."], 1, "dataset.json"),
        (["explain", "gone.yaml"], 2, "gone.yaml"),
    ],
)
def test_impossible_requests_are_reported(words: list[str], code: int, expected: str, tmp_path: Path):
    assert expected in twinloop(*words, code=code, cwd=tmp_path)["error"]


@pytest.mark.parametrize(
    "words", [["generate", "--episodes", "0"], ["generate", "--episodes", "many"], ["nonsense"], []]
)
def test_wrong_arguments_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_explain_describes_the_run(made, capsys: pytest.CaptureFixture):
    folder, _ = made
    assert main(["explain", str(folder / "cell.yaml"), "--json"]) == 0
    printed = capsys.readouterr()
    output = json.loads(printed.out.splitlines()[-1])
    assert output["episodes"] == 128
    assert {row["name"]: row["gap"] for row in output["varied"]}["friction_coefficient"] == "contact"
    assert output["estimate"]["disk_bytes"] > 0
    assert output["config"]["expert"]["retries"] == 3
    assert "friction_coefficient" in printed.err
    assert "in flight" in printed.err
