"""CSV, JSON, JSON lines and NumPy logs come in by a mapping; conversions can be undone."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.curate.quality.recordings import clean_recordings
from tests.shared_data import shared_data
from twinloop.dataset import Dataset
from twinloop.dataset.ingest import CONVERSIONS, ingest, load_mapping, open_source, restored, stored_qualities
from twinloop.errors import ConfigError, UsageError

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "ingest"
SIMPLE = "rate_hz: 50\ncolumns:\n  observation.state: {from: [a, b], unit: rad}\n  action: {from: [c, d], unit: rad}\n"


def bring(source: Path, mapping: Path, out: Path) -> Dataset:
    read = load_mapping(mapping)
    ingest(open_source(source, read), out, name="log", label=source.name, mapping=read)
    return Dataset.open(out)


def columns(number: int) -> dict[str, np.ndarray]:
    recording = clean_recordings(number + 1, seed=2)[number]
    seen, commanded = recording.signals["observation.state"], recording.signals["action"]
    return {"a": seen[:, 0], "b": seen[:, 1], "c": commanded[:, 0], "d": commanded[:, 1]}


def write(folder: Path, kind: str, count: int = 3) -> Path:
    folder.mkdir()
    for number in range(count):
        values, path = columns(number), folder / f"run_{number}.{kind}"
        rows = [dict(zip(values, map(float, row), strict=True)) for row in zip(*values.values(), strict=True)]
        if kind == "csv":
            lines = [",".join(values)] + [",".join(map(repr, row.values())) for row in rows]
            path.write_text("\n".join(lines) + "\n")
        elif kind == "json":
            path.write_text(json.dumps({"robot": "x", "rows": rows}))
        elif kind == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            np.savez(path, allow_pickle=False, **values)
    return folder


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.yaml"
    path.write_text(SIMPLE)
    return path


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "npz"])
def test_a_folder_of_logs_keeps_every_number(tmp_path: Path, mapping: Path, kind: str):
    dataset = bring(write(tmp_path / "logs", kind), mapping, tmp_path / "out")
    assert dataset.attempts()["verdict"].to_pylist() == ["accepted"] * 3
    for number in range(3):
        stored, recorded = dataset.episode(number), columns(number)
        assert np.array_equal(stored["observation.state"], np.stack([recorded["a"], recorded["b"]], axis=1))
        assert np.array_equal(stored["action"], np.stack([recorded["c"], recorded["d"]], axis=1))


def test_one_file_of_many_episodes_with_units_and_signs_can_be_undone(tmp_path: Path):
    lines = ["time_ms,episode,q1_deg,q2_deg,grip_mm,q1_goal_deg,q2_goal_deg,grip_goal_mm,success"]
    recorded = []
    for number, recording in enumerate(clean_recordings(3, seed=4)):
        seen, commanded = (recording.signals[name][:, [0, 1, 4]] for name in ("observation.state", "action"))
        table = np.concatenate(
            [np.rad2deg(seen[:, :2]), seen[:, 2:] * 1e3, np.rad2deg(commanded[:, :2]), commanded[:, 2:] * 1e3], axis=1
        )
        recorded.append(table)
        for row, values in enumerate(table.tolist()):
            lines.append(
                ",".join([str(1_700_000_000_000 + 20 * row), str(number), *map(repr, values), str(number != 1)])
            )
    (tmp_path / "day.csv").write_text("\n".join(lines) + "\n")
    dataset = bring(tmp_path / "day.csv", EXAMPLES / "arm_log.yaml", tmp_path / "out")
    attempts = dataset.attempts().to_pylist()
    assert [attempt["outcome"] for attempt in attempts] == ["success", "failure", "success"]
    assert [attempt["verdict"] for attempt in attempts] == ["accepted", "task_failed", "accepted"]
    assert dataset.header.feature("observation.state").unit == "rad; rad; m"
    output = json.loads((tmp_path / "out" / CONVERSIONS).read_text())
    for number, table in enumerate(recorded):
        stored = dataset.episode(number)
        assert stored["observation.state"][:, 1] == pytest.approx(-np.deg2rad(table[:, 1]))
        back = restored(stored, output["features"])
        assert back["observation.state"] == pytest.approx(table[:, :3], rel=1e-12, abs=1e-12)
        assert back["action"] == pytest.approx(table[:, 3:], rel=1e-12, abs=1e-12)


def test_a_wrapped_angle_is_unwrapped_when_asked_and_wrapped_again(tmp_path: Path):
    (tmp_path / "m.yaml").write_text(
        "rate_hz: 50\ncolumns:\n  observation.state: {from: [q], unit: rad, recorded_unit: deg, unwrap: 360}\n"
    )
    turned = np.mod(np.linspace(100, 900, 400) + 180, 360) - 180
    np.savez(tmp_path / "log.npz", q=turned)
    dataset = bring(tmp_path / "log.npz", tmp_path / "m.yaml", tmp_path / "out")
    stored = dataset.episode(0)
    assert np.ptp(stored["observation.state"]) == pytest.approx(np.deg2rad(800))
    output = json.loads((tmp_path / "out" / CONVERSIONS).read_text())
    assert restored(stored, output["features"])["observation.state"][:, 0] == pytest.approx(turned, abs=1e-9)


def test_a_clock_is_kept_as_recorded(tmp_path: Path):
    (tmp_path / "m.yaml").write_text(f"time: {{column: t, unit: ms}}\n{SIMPLE}")
    rng = np.random.default_rng(0)
    values = columns(0)
    ticks = 1_700_000_000_123 + np.cumsum(rng.integers(19, 22, len(values["a"])))
    np.savez(tmp_path / "log.npz", allow_pickle=False, t=ticks, **values)
    dataset = bring(tmp_path / "log.npz", tmp_path / "m.yaml", tmp_path / "out")
    assert dataset.episode(0)["timing"] == pytest.approx((ticks - ticks[0]) / 1e3, abs=1e-6)
    assert dataset.attempts()["clock_began_s"][0].as_py() == pytest.approx(ticks[0] / 1e3)


@pytest.mark.parametrize(
    ("damage", "verdict"),
    [
        (lambda text: text.replace(",", "", 40), "ragged_columns"),
        (lambda text: text.replace("\n0.", "\n1e111", 1), "non_finite"),
        (lambda text: text.replace("a,b,c,d", "a,b,c,e", 1), "ragged_columns"),
        (lambda text: "\n".join([*text.splitlines()[:20], "nan,1,1,1", *text.splitlines()[20:]]), "non_finite"),
    ],
    ids=["many broken rows", "a garbage number", "a column is missing", "not a number"],
)
def test_a_broken_csv_is_a_verdict(tmp_path: Path, mapping: Path, damage, verdict: str):
    logs = write(tmp_path / "logs", "csv", 4)
    path = logs / "run_1.csv"
    path.write_text(damage(path.read_text()))
    result = bring(logs, mapping, tmp_path / "out").attempts()["verdict"].to_pylist()
    assert result == ["accepted", verdict, "accepted", "accepted"]


def test_a_garbage_number_is_named_with_its_file_and_row(tmp_path: Path, mapping: Path):
    logs = write(tmp_path / "logs", "csv", 3)
    lines = (logs / "run_1.csv").read_text().splitlines()
    lines[8] = "1e111" + lines[8][lines[8].index(",") :]
    (logs / "run_1.csv").write_text("\n".join(lines) + "\n")
    bring(logs, mapping, tmp_path / "out")
    quality = stored_qualities(Dataset.open(tmp_path / "out"))
    assert [judged.verdict for judged in quality] == ["", "non_finite", ""]
    assert quality[1].label == "run_1.csv"
    assert "1e+111" in quality[1].errors[0].message
    assert quality[1].errors[0].first == 7


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("cut", [1, 6, 23])
def test_a_cut_off_last_row_is_left_out(tmp_path: Path, mapping: Path, kind: str, cut: int):
    """`cut`: bytes that are missing at the end, up to the middle of the last row."""
    logs = write(tmp_path / "logs", kind)
    path = logs / f"run_1.{kind}"
    text = path.read_text()
    last = text.rstrip("\n").rsplit("\n", 1)[1]
    kept = text[: -len(last) - 1] + last[: max(len(last) // 2 - cut, 1)]
    path.write_text(kept)
    dataset = bring(logs, mapping, tmp_path / "out")
    attempts = dataset.attempts()
    assert attempts["verdict"].to_pylist() == ["accepted"] * 3
    assert attempts["length"][1].as_py() == len(columns(1)["a"]) - 1
    (note,) = stored_qualities(dataset)[1].findings
    assert note.severity == "note"
    assert note.message.startswith(f"run_1.{kind}:")
    assert "left out" in note.message


def test_a_broken_row_in_the_middle_is_named_by_its_line(tmp_path: Path, mapping: Path):
    logs = write(tmp_path / "logs", "csv")
    lines = (logs / "run_1.csv").read_text().splitlines()
    lines[30] = lines[30][:5]
    (logs / "run_1.csv").write_text("\n".join(lines) + "\n")
    dataset = bring(logs, mapping, tmp_path / "out")
    assert dataset.attempts()["length"][1].as_py() == len(lines) - 2
    (note,) = stored_qualities(dataset)[1].findings
    assert "line 31 " in note.message


def test_a_headerless_csv_gets_numbered_columns(tmp_path: Path):
    logs = write(tmp_path / "logs", "csv")
    for path in logs.iterdir():
        path.write_text(path.read_text().split("\n", 1)[1])
    with pytest.raises(UsageError, match=r"(?s)first line contains numbers.*from: \[col_0, col_1, col_2, col_3\]"):
        open_source(logs)
    text = "rate_hz: 50\ncolumns: {observation.state: {from: [col_0, col_1]}, action: {from: [col_2, col_3]}}\n"
    (tmp_path / "m.yaml").write_text(text)
    dataset = bring(logs, tmp_path / "m.yaml", tmp_path / "out")
    assert dataset.episode(0)["observation.state"][:, 0] == pytest.approx(columns(0)["a"])


def test_a_cut_off_json_is_a_verdict(tmp_path: Path, mapping: Path):
    logs = write(tmp_path / "logs", "json")
    text = (logs / "run_2.json").read_text()
    (logs / "run_2.json").write_text(text[: len(text) // 2])
    result = bring(logs, mapping, tmp_path / "out").attempts()["verdict"].to_pylist()
    assert result == ["accepted", "accepted", "truncated_file"]


def test_pickled_arrays_are_not_opened(tmp_path: Path, mapping: Path):
    logs = write(tmp_path / "logs", "npz")
    np.savez(logs / "run_1.npz", a=np.array([{"x": 1}], dtype=object))
    result = bring(logs, mapping, tmp_path / "out").attempts()["verdict"].to_pylist()
    assert result == ["accepted", "truncated_file", "accepted"]


def test_without_a_mapping_one_is_proposed(tmp_path: Path):
    logs = write(tmp_path / "logs", "csv")
    with pytest.raises(UsageError, match=r"observation.state: \{from: \[a, b, c, d\]"):
        open_source(logs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums: {}", "did you mean columns"),
        ("columns: {x: {from: a, unit: rad, recorded_unit: m}}", "cannot be converted"),
        ("columns: {x: {from: a, scale: 0}}", "cannot be undone"),
        ("columns: {timestamp: a}", "is taken"),
        ("rate_hz: -3", "above 0"),
        ("columns: {x: {form: a}}", "did you mean from"),
        ("outcome: perhaps", "success"),
        ("time: {column: t, unit: parsec}", "ns"),
        ("limits: {q: [2, 1]}", r"m.yaml:1: limits.q: is \[2, 1\]; the first must not be larger"),
        ("columns: {x: {from: [a, b], unit: [rad, m], names: [a]}}", r"different lengths: \[1, 2\]"),
        ("columns: {x: {from: a, unwrap: -1}}", "x.unwrap: is -1; .* from 0"),
        ("episodes: {row: 3}", "episodes.row: is not a key.*Valid here: column, keys"),
        ("episodes: {column: a, keys: b}", "one of {column: NAME} and {keys: PATTERN}"),
        ("csv: {delimiter: ab}", "csv.delimiter: is 'ab'; one character"),
    ],
)
def test_a_wrong_mapping_error_names_the_valid_values(tmp_path: Path, text: str, message: str):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_mapping(tmp_path / "m.yaml")


def test_logs_outside_the_folder_are_not_read(tmp_path: Path, mapping: Path):
    logs = write(tmp_path / "logs", "csv")
    mapping.write_text(SIMPLE + "files: '../*.csv'\n")
    with pytest.raises(UsageError, match="leaves the folder"):
        open_source(logs, load_mapping(mapping))


def test_a_real_servo_bench_comes_in_clean(tmp_path: Path):
    dataset = bring(shared_data("xl330_pendulum"), EXAMPLES / "servo_log.yaml", tmp_path / "out")
    attempts = dataset.attempts().to_pylist()
    assert {attempt["verdict"] for attempt in attempts} == {"accepted"}
    assert dataset.header.fps == 200
    assert {attempt["condition/gain"] for attempt in attempts} >= {"100", "200"}


def test_real_tosses_come_in_clean_and_can_be_undone(tmp_path: Path):
    source = shared_data("cube_tosses") / "tosses.npz"
    dataset = bring(source, EXAMPLES / "tossed_cube.yaml", tmp_path / "out")
    attempts = dataset.attempts().to_pylist()
    assert [attempt["verdict"] for attempt in attempts] == ["accepted"] * 60
    output = json.loads((tmp_path / "out" / CONVERSIONS).read_text())
    with np.load(source, allow_pickle=False) as tosses:
        back = restored(dataset.episode(7), output["features"])
        assert back["observation.position"] == pytest.approx(tosses["toss_007"][:, :3], rel=1e-14)
        assert np.array_equal(back["observation.orientation"], tosses["toss_007"][:, 3:7])


def late_rows_ms(rows: int) -> np.ndarray:
    """A clock in whole milliseconds: most steps are 10 ms, some rows are late, the mean step is 10.6 ms."""
    return np.cumsum(np.random.default_rng(0).choice([10, 11, 12], rows, p=[0.6, 0.2, 0.2]))


@pytest.mark.parametrize("rate", ["", "rate_hz: 100\n", "rate_hz: 94.34\n"])
def test_a_clock_with_coarse_ticks_is_accepted_whether_or_not_a_rate_is_declared(tmp_path: Path, rate: str):
    (tmp_path / "logs").mkdir()
    for number in range(3):
        values = columns(number)
        rows = zip(late_rows_ms(len(values["a"])), *values.values(), strict=True)
        lines = [",".join(("t", *values))] + [",".join(map(repr, map(float, row))) for row in rows]
        (tmp_path / "logs" / f"run_{number}.csv").write_text("\n".join(lines) + "\n")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(rate + "time: {column: t, unit: ms}\n" + SIMPLE.partition("\n")[2])
    dataset = bring(tmp_path / "logs", mapping, tmp_path / "out")
    assert dataset.attempts()["verdict"].to_pylist() == ["accepted"] * 3
    if not rate:
        assert dataset.header.fps == pytest.approx(94.3, rel=0.01)
