"""Ingesting: recordings are stored completely, once, and checked."""

import json
import os
import shutil
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.dataset.ingest.sources import film, lerobot_v2, robomimic
from tests.dataset.people.peopled import ADA, TODAY, consent_of
from tests.dataset.synthetic import LABELLED, header
from tests.dataset.synthetic import run as synthetic_run
from tests.shared_data import shared_data
from twinloop.cli import main
from twinloop.dataset import Dataset, verify
from twinloop.dataset.ingest import CONVERSIONS, Ingested, IngestOptions, ingest, open_source
from twinloop.dataset.people.consent import write_consent
from twinloop.errors import DatasetError, UsageError


def bring(source: Path, out: Path, **options) -> Ingested:
    return ingest(open_source(source), out, name="toy", label=source.name, options=IngestOptions(**options))


def verdicts(path: Path) -> list[str]:
    return Dataset.open(path).attempts()["verdict"].to_pylist()


def test_a_lerobot_v2_folder_keeps_every_number(tmp_path: Path):
    source = lerobot_v2(tmp_path / "source")
    done = bring(source, tmp_path / "out")
    assert [quality.verdict for quality in done.qualities] == [""] * 4
    dataset = Dataset.open(tmp_path / "out")
    assert (dataset.header.source, dataset.header.robot, dataset.header.fps) == ("real", "toy_arm", 30)
    for number in range(4):
        recorded = pq.read_table(source / f"data/chunk-000/episode_{number:06d}.parquet")
        stored = dataset.episode(number)
        for name in ("action", "observation.state"):
            assert np.array_equal(stored[name], np.array(recorded[name].to_pylist(), np.float32))
    attempts = dataset.attempts().to_pylist()
    assert {attempt["outcome"] for attempt in attempts} == {"unknown"}
    assert {attempt["robot_id"] for attempt in attempts} == {"toy"}
    assert {attempt["task"] for attempt in attempts} == {"stack the cups"}
    assert verify(tmp_path / "out").require().exported


def test_our_own_export_round_trips(tmp_path: Path):
    pytest.importorskip("av")
    synthetic_run(tmp_path / "ours", header(features=LABELLED, episodes=6))
    done = bring(tmp_path / "ours", tmp_path / "back", pictures="all")
    ours, back = Dataset.open(tmp_path / "ours"), Dataset.open(tmp_path / "back")
    assert len(done.qualities) == ours.stored
    stored = {item.name: item for item in back.header.features}
    assert {item.name for item in ours.header.features} <= stored.keys()
    kept = {quality.attempt for quality in done.qualities if quality.storable}
    assert kept, "at least one episode must have come back"
    output = json.loads((tmp_path / "back" / CONVERSIONS).read_text())["pictures"]
    place = 0
    for number in range(ours.stored):
        if number not in kept:
            continue
        one, other = ours.episode(number), back.episode(place)
        for feature in ours.header.columns:
            assert np.array_equal(one[feature.name], other[feature.name]), feature.name
        for feature in ours.header.pictures:
            if output[feature.name] != "re-encoded":
                assert np.array_equal(ours.pictures(number, feature.name), back.pictures(place, feature.name))
        place += 1
    assert sum(value == "re-encoded" for value in output.values()) <= 2, "depth and masks come back exactly"


def test_a_film_is_copied_without_loss_and_one_without_key_frames_is_encoded_again(tmp_path: Path):
    pytest.importorskip("av")
    source = lerobot_v2(tmp_path / "source", episodes=2, cameras=True)
    bring(source, tmp_path / "copied")
    output = json.loads((tmp_path / "copied" / CONVERSIONS).read_text())
    assert output["pictures"] == {"observation.images.front": "copied"}
    rows = Dataset.open(tmp_path / "copied").attempts()["length"].to_pylist()
    film(source / "videos/chunk-000/observation.images.front/episode_000001.mp4", rows[1], 30, key_every=250)
    bring(source, tmp_path / "encoded")
    output = json.loads((tmp_path / "encoded" / CONVERSIONS).read_text())
    assert output["pictures"] == {"observation.images.front": "re-encoded"}
    one, other = (Dataset.open(tmp_path / item) for item in ("copied", "encoded"))
    a, b = (item.pictures(0, "observation.images.front").astype(int) for item in (one, other))
    assert a.shape == b.shape == (rows[0], 32, 48, 3)
    assert np.abs(a - b).mean() < 8
    assert verify(tmp_path / "encoded").require().ok


def test_pictures_that_are_not_one_a_row_are_a_verdict_and_no_rows(tmp_path: Path):
    pytest.importorskip("av")
    source = lerobot_v2(tmp_path / "source", episodes=3, cameras=True)
    folder = source / "videos/chunk-000/observation.images.front"
    film(folder / "episode_000001.mp4", 40, 30)
    whole = (folder / "episode_000002.mp4").read_bytes()
    (folder / "episode_000002.mp4").write_bytes(whole[: len(whole) // 2])
    bring(source, tmp_path / "out")
    assert verdicts(tmp_path / "out") == ["accepted", "picture_frames", "picture_frames"]
    assert Dataset.open(tmp_path / "out").attempts()["length"].to_pylist()[1:] == [0, 0]
    assert verify(tmp_path / "out").require().ok


def test_cameras_that_many_episodes_lack_are_left_out_and_reported(tmp_path: Path):
    pytest.importorskip("av")
    source = lerobot_v2(tmp_path / "source", episodes=3, cameras=True)
    videos = source / "videos/chunk-000/observation.images.front"
    (videos / "episode_000001.mp4").unlink()
    (videos / "episode_000002.mp4").unlink()
    film(videos / "episode_000000.mp4", 40, 30)
    done = bring(source, tmp_path / "auto")
    assert "2 of 3 episodes have no video" in done.left_out["observation.images.front"]
    assert verdicts(tmp_path / "auto") == ["accepted"] * 3
    (note,) = done.qualities[0].findings  # the video that is there is shorter than its rows
    assert (note.check, note.severity) == ("picture_frames", "note")
    assert "40 frames" in note.message
    bring(source, tmp_path / "all", pictures="all")
    assert verdicts(tmp_path / "all") == ["picture_frames"] * 3


def test_a_missing_video_rejects_its_episode_and_keeps_the_camera(tmp_path: Path):
    pytest.importorskip("av")
    source = lerobot_v2(tmp_path / "source", episodes=4, cameras=True)
    videos = source / "videos/chunk-000/observation.images.front"
    (videos / "episode_000001.mp4").unlink()
    film(videos / "episode_000002.mp4", 40, 30)
    done = bring(source, tmp_path / "out")
    assert not done.left_out
    assert verdicts(tmp_path / "out") == ["accepted", "picture_frames", "picture_frames", "accepted"]
    assert "the video is missing" in done.qualities[1].errors[0].message
    assert "40 frames" in done.qualities[2].errors[0].message
    assert verify(tmp_path / "out").require().ok


@pytest.mark.parametrize(
    "names",
    [
        [["base", "shoulder", "elbow", "wrist", "gripper"]],
        {"motors": ["base", "shoulder", "elbow", "wrist", "gripper"]},
        {"motors": [["base", "shoulder", "elbow", "wrist", "gripper"]]},
        {"arm": ["base", "shoulder", "elbow", "wrist"], "hand": ["gripper"]},
        [["base", "shoulder"], ["elbow", "wrist", "gripper"]],
    ],
)
def test_nested_names_are_kept(tmp_path: Path, names):
    source = lerobot_v2(tmp_path / "source", episodes=2)
    info = json.loads((source / "meta/info.json").read_text())
    info["features"]["observation.state"]["names"] = names
    (source / "meta/info.json").write_text(json.dumps(info))
    (column,) = [item for item in open_source(source).columns() if item.name == "observation.state"]
    assert column.names == ("base", "shoulder", "elbow", "wrist", "gripper")


def test_names_that_repeat_in_two_groups_get_the_name_of_their_group(tmp_path: Path):
    source = lerobot_v2(tmp_path / "source", episodes=2)
    info = json.loads((source / "meta/info.json").read_text())
    info["features"]["action"]["names"] = {"left": ["j1", "j2"], "right": ["j1", "j2", "grip"]}
    (source / "meta/info.json").write_text(json.dumps(info))
    (column,) = [item for item in open_source(source).columns() if item.name == "action"]
    assert column.names == ("left.j1", "left.j2", "right.j1", "right.j2", "right.grip")


@pytest.mark.parametrize("place", ["meta_data/info.json", "train/state.json", "train/data-00000-of-00001.arrow"])
def test_a_lerobot_v1_folder_is_refused_with_advice(tmp_path: Path, place: str):
    path = tmp_path / "old" / place
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"LeRobot v1.*convert_dataset_v1_to_v2"):
        open_source(tmp_path / "old")


def test_a_name_that_is_not_utf8_is_refused_with_advice(tmp_path: Path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/logs\xff"))
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"logs\\xff: the name is not UTF-8; rename"):
        open_source(folder)
    with pytest.raises(UsageError, match=r"not UTF-8"):
        Dataset.open(folder)


def test_broken_files_are_verdicts_and_the_others_come_in(tmp_path: Path):
    source = lerobot_v2(tmp_path / "source", episodes=5)
    data = source / "data/chunk-000"
    cut = (data / "episode_000001.parquet").read_bytes()
    (data / "episode_000001.parquet").write_bytes(cut[: len(cut) // 3])
    (data / "episode_000002.parquet").unlink()
    table = pq.read_table(data / "episode_000003.parquet")
    pq.write_table(table.drop_columns(["action"]), data / "episode_000003.parquet")
    bring(source, tmp_path / "out")
    results = ["accepted", "truncated_file", "truncated_file", "ragged_columns", "accepted"]
    assert verdicts(tmp_path / "out") == results
    assert verify(tmp_path / "out").require().ok


def test_a_killed_ingest_resumes_and_a_changed_source_is_refused(tmp_path: Path):
    source = lerobot_v2(tmp_path / "source")
    whole = bring(source, tmp_path / "whole").digest
    seen: list[int] = []

    def stop(progress):
        if progress.doing == "writing":
            seen.append(progress.done)
            if len(seen) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(open_source(source), tmp_path / "killed", name="toy", label="source", on_progress=stop)
    assert len(Dataset.open(tmp_path / "killed").entries) == 2
    assert bring(source, tmp_path / "killed").digest == whole
    shutil.copy(source / "data/chunk-000/episode_000001.parquet", tmp_path / "kept.parquet")
    table = pq.read_table(tmp_path / "kept.parquet")
    flipped = table.set_column(0, "action", table["observation.state"])
    pq.write_table(flipped, source / "data/chunk-000/episode_000001.parquet")
    with pytest.raises(DatasetError, match="episode 1 of the source has changed"):
        bring(source, tmp_path / "killed")


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path):
    source = lerobot_v2(tmp_path / "source", episodes=2)
    shutil.copy(source / "data/chunk-000/episode_000000.parquet", tmp_path / "secret.parquet")
    os.remove(source / "data/chunk-000/episode_000000.parquet")
    os.symlink(tmp_path / "secret.parquet", source / "data/chunk-000/episode_000000.parquet")
    with pytest.raises(DatasetError, match="leaves"):
        bring(source, tmp_path / "out")


@pytest.mark.parametrize(
    "template",
    [
        "../{episode_index}.parquet",
        "/etc/{episode_index}",
        "{episode_index.__class__}",
        "{other}/x",
        "{episode_index!r}",
    ],
)
def test_a_template_that_wanders_is_refused(tmp_path: Path, template: str):
    source = lerobot_v2(tmp_path / "source", episodes=1)
    info = json.loads((source / "meta/info.json").read_text())
    (source / "meta/info.json").write_text(json.dumps({**info, "data_path": template}))
    with pytest.raises(DatasetError, match=r"not inside|not a valid path"):
        bring(source, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codebase_version": "v1.0"}, "v2.0, v2.1 and v3.0 are supported"),
        ({"fps": "fast"}, "fps 'fast'"),
        ({"total_episodes": -1}, "total_episodes"),
        ({"features": {"action": {"dtype": "float32"}}}, "features.action"),
    ],
)
def test_a_broken_info_is_named(tmp_path: Path, change: dict, message: str):
    source = lerobot_v2(tmp_path / "source", episodes=1)
    info = json.loads((source / "meta/info.json").read_text())
    (source / "meta/info.json").write_text(json.dumps({**info, **change}))
    with pytest.raises(DatasetError, match=message):
        open_source(source)


def test_robomimic_keeps_double_precision_and_metadata(tmp_path: Path):
    h5py = pytest.importorskip("h5py", reason="needs twinloop[ingest]")
    source = robomimic(tmp_path / "demos.hdf5")
    bring(source, tmp_path / "out")
    dataset = Dataset.open(tmp_path / "out")
    assert (dataset.header.fps, dataset.header.robot) == (20, "Panda")
    assert dataset.header.feature("action").dtype == "float64"
    with h5py.File(source) as file:
        for number in range(3):
            stored = dataset.episode(number)
            assert np.array_equal(stored["action"], file[f"data/demo_{number}/actions"][()])
            assert np.array_equal(stored["observation.joint_pos"], file[f"data/demo_{number}/obs/joint_pos"][()])
            assert np.array_equal(stored["states"], file[f"data/demo_{number}/states"][()])
    attempts = dataset.attempts().to_pylist()
    assert [attempt["condition/mask"] for attempt in attempts] == ["train", "train", "valid"]
    assert {(attempt["outcome"], attempt["success"]) for attempt in attempts} == {("success", True)}
    assert verify(tmp_path / "out").require().ok


def test_robomimic_pictures_become_a_film(tmp_path: Path):
    pytest.importorskip("h5py", reason="needs twinloop[ingest]")
    pytest.importorskip("av")
    bring(robomimic(tmp_path / "demos.hdf5", episodes=2, pictures=True), tmp_path / "out")
    dataset = Dataset.open(tmp_path / "out")
    rows = dataset.attempts()["length"].to_pylist()
    assert dataset.pictures(1, "observation.images.agentview").shape == (rows[1], 24, 24, 3)


@pytest.mark.parametrize("trick", ["external", "soft", "object"])
def test_an_hdf5_file_that_points_elsewhere_is_refused(tmp_path: Path, trick: str):
    h5py = pytest.importorskip("h5py", reason="needs twinloop[ingest]")
    source = robomimic(tmp_path / "demos.hdf5")
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["secret"] = np.arange(10.0)
    with h5py.File(source, "a") as file:
        demo = file["data/demo_1"]
        if trick == "external":
            demo["obs/secret"] = h5py.ExternalLink(str(tmp_path / "other.hdf5"), "/secret")
        elif trick == "soft":
            demo["obs/secret"] = h5py.SoftLink("/data/demo_0/actions")
        else:
            del demo["actions"]
            demo.create_dataset("actions", data=["text"] * 3, dtype=h5py.string_dtype())
    if trick == "object":
        bring(source, tmp_path / "out")
        assert verdicts(tmp_path / "out") == ["accepted", "ragged_columns", "accepted"]
    else:
        with pytest.raises(DatasetError, match="is a link"):
            bring(source, tmp_path / "out")


def test_a_source_without_a_rate_asks_for_one(tmp_path: Path):
    h5py = pytest.importorskip("h5py", reason="needs twinloop[ingest]")
    source = robomimic(tmp_path / "demos.hdf5")
    with h5py.File(source, "a") as file:
        del file["data"].attrs["env_args"]
    with pytest.raises(UsageError, match="--rate-hz"):
        bring(source, tmp_path / "out")
    bring(source, tmp_path / "out", rate_hz=20.0)
    assert Dataset.open(tmp_path / "out").header.fps == 20


def test_real_teleoperation_comes_in_nearly_without_complaint(tmp_path: Path):
    source = shared_data("so101_table_cleanup")
    done = bring(source, tmp_path / "out")
    rejected = {quality.attempt: quality.verdict for quality in done.qualities if quality.errors}
    assert len(done.qualities) == 41
    assert set(rejected.values()) <= {"too_short"}, rejected  # two were stopped after three rows
    assert len(rejected) <= 2


def test_recordings_of_a_participant_need_consent_and_can_be_removed(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lerobot_v2(tmp_path / "source")
    write_consent(tmp_path / "ada.yaml", consent_of(ADA))
    words = ["ingest", "source", "--as", "toy", "--out", "toy"]
    assert main([*words, "--participant", ADA]) == 2
    assert "give both" in capsys.readouterr().err
    write_consent(tmp_path / "old.yaml", consent_of(ADA, expires_on=TODAY - timedelta(days=1)))
    assert main([*words, "--participant", ADA, "--consent", "old.yaml"]) != 0
    assert "expired" in capsys.readouterr().err
    assert not (tmp_path / "toy").exists()
    assert main([*words, "--participant", ADA, "--consent", "ada.yaml"]) == 0
    assert set(Dataset.open(tmp_path / "toy").attempts()["participant"].to_pylist()) == {ADA}
    assert main(["forget", ADA, "--datasets", "toy"]) == 0
    assert set(verdicts(tmp_path / "toy")) == {"forgotten"}
    assert not (tmp_path / "toy" / "quality.html").exists()
