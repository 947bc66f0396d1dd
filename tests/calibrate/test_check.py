"""Problems of logs are named before the fit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import DATA, EXAMPLES, logs_of_truth, xl330
from twinloop.calibrate.bench import Bench, at_logged_rate, load_bench
from twinloop.calibrate.check import check
from twinloop.calibrate.logs import Log, read_logs
from twinloop.calibrate.replay import replay
from twinloop.cli.replay import logs_of
from twinloop.errors import DatasetError


@pytest.fixture(scope="module")
def bench() -> Bench:
    return xl330()


@pytest.fixture(scope="module")
def good(bench: Bench) -> list[Log]:
    return logs_of_truth(bench, {"pendulum.resistance_ohm": 2.5}, seed=1)


def changed(log: Log, **columns: np.ndarray) -> Log:
    return replace(log, columns={**log.columns, **{name: column[:, None] for name, column in columns.items()}})


def kinds(bench: Bench, logs: list[Log], severity: str) -> set[str]:
    return {finding.kind for finding in check(bench, logs).findings if finding.severity == severity}


def test_good_logs_pass(bench: Bench, good: list[Log]):
    checked = check(bench, good)
    assert len(checked.logs) == len(good)
    assert not {finding.severity for finding in checked.findings} & {"refused", "dropped", "warning"}
    checked.refuse()


@pytest.mark.parametrize(("folder", "file"), [("xl330_pendulum", "xl330_bench"), ("so101_table_cleanup", "so101_cell")])
def test_real_logs_pass(folder: str, file: str):
    if not (DATA / folder).exists():
        pytest.skip(f"no {folder} beside the project")
    bench = load_bench(EXAMPLES / f"{file}.yaml")
    checked = check(bench, logs_of(bench, DATA / folder))
    checked.refuse()
    assert all(finding.kind == "too_short" for finding in checked.findings if finding.severity != "note")


def test_a_turned_sign_is_named(bench: Bench, good: list[Log]):
    turned = [changed(log, position=-log.columns["position"][:, 0], speed=-log.columns["speed"][:, 0]) for log in good]
    assert "sign_flip" in kinds(bench, turned, "refused")
    with pytest.raises(DatasetError, match="position: moves against goal_position"):
        check(bench, turned).refuse()


def test_a_speed_with_the_wrong_sign_is_named(bench: Bench, good: list[Log]):
    turned = [changed(log, speed=-log.columns["speed"][:, 0]) for log in good]
    assert any("opposite sign" in finding.message for finding in check(bench, turned).findings)


@pytest.mark.parametrize("columns", [("position", "speed"), ("goal_position",), ("position", "speed", "goal_position")])
def test_degrees_for_radians_are_named(bench: Bench, good: list[Log], columns: tuple[str, ...]):
    wrong = [changed(log, **{name: np.rad2deg(log.columns[name][:, 0]) for name in columns}) for log in good]
    assert "unit_confusion" in kinds(bench, wrong, "refused")


def test_a_clipped_channel_is_named(bench: Bench, good: list[Log]):
    cut = [changed(log, position=np.clip(log.columns["position"][:, 0], -0.08, 0.1)) for log in good]
    assert "clipped" in kinds(bench, cut, "refused")


def test_gaps_are_reported_and_not_compared(bench: Bench, good: list[Log]):
    kept = np.r_[0:150, 210 : len(good[0])]
    holed = replace(
        good[0], time_s=good[0].time_s[kept], columns={name: c[kept] for name, c in good[0].columns.items()}
    )
    checked = check(bench, [holed, *good[1:]])
    (gap,) = [finding for finding in checked.findings if finding.kind == "timestamp_gap"]
    assert gap.severity == "warning"
    assert "305 ms pass between rows 149 and 150" in gap.message


def test_logs_at_another_rate_are_refused(bench: Bench, good: list[Log]):
    slow = [replace(log, time_s=log.time_s * 2) for log in good]
    assert "declared_rate" in kinds(bench, slow, "refused")


def test_short_logs_and_time_that_runs_back_are_dropped(bench: Bench, good: list[Log]):
    back = replace(good[1], time_s=np.where(np.arange(len(good[1])) == 100, 0.0, good[1].time_s))
    checked = check(bench, [good[0].select(slice(0, 5)), back, *good[2:]])
    dropped = [finding.kind for finding in checked.findings if finding.severity == "dropped"]
    assert dropped == ["too_short", "timestamp_order"]
    assert len(checked.logs) == len(good) - 2


def test_motion_before_its_command_is_refused(bench: Bench, good: list[Log]):
    late = [changed(log, goal_position=np.roll(log.columns["goal_position"][:, 0], 40)) for log in good]
    assert "early_motion" in kinds(bench, late, "refused")


def test_swapped_joints_are_named():
    if not (DATA / "so101_table_cleanup").exists():
        pytest.skip("no so101_table_cleanup beside the project")
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    logs = read_logs(DATA / "so101_table_cleanup", format="lerobot", files="", rows="", time="", rate_hz=30)[:6]
    order = [0, 2, 1, 3, 4, 5]
    swapped = [
        replace(log, columns={**log.columns, "observation.state": log.columns["observation.state"][:, order]})
        for log in logs
    ]
    results = [finding for finding in check(bench, swapped).findings if finding.kind == "swapped_joints"]
    assert {finding.where for finding in results} == {"shoulder_lift", "elbow_flex"}
    assert all("the other way round" in finding.message for finding in results)


def late_frames(log: Log, rng: np.random.Generator) -> Log:
    """The log as a recorder with 1 ms ticks and late frames stamps it: median step 5 ms, mean 5.3 ms."""
    stamps = np.cumsum(rng.choice([5, 6], len(log), p=[0.7, 0.3])) / 1000
    since = stamps - stamps[0]
    columns = {
        name: np.interp(since, log.time_s, column[:, 0])[:, None] for name, column in log.columns.items()
    }  # fmt: skip
    kept = since <= log.time_s[-1]
    return replace(log, time_s=stamps[kept], columns={name: column[kept] for name, column in columns.items()})


@pytest.mark.parametrize("rate", ["  rate_hz: 200", "  rate_hz: 188.7", ""])
def test_a_clock_with_coarse_ticks_passes_with_a_note(tmp_path: Path, good: list[Log], rate: str):
    for name in ("xl330_bench.yaml", "xl330_bench.xml"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    file = tmp_path / "xl330_bench.yaml"
    lines = [rate if line.strip().startswith("rate_hz:") else line for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(0)
    logs = [late_frames(log, rng) for log in good]
    bench = at_logged_rate(load_bench(file), logs)
    if not rate:
        assert bench.logs.rate_hz == pytest.approx(188.7, rel=0.01)
        assert bench.substeps * bench.model.opt.timestep == pytest.approx(1 / bench.logs.rate_hz)
    checked = check(bench, logs)
    checked.refuse()
    assert len(checked.logs) == len(logs)
    assert {finding.severity for finding in checked.findings} == {"note"}
    assert any("resampled onto an even grid" in finding.message for finding in checked.findings)


def test_resampled_logs_replay_as_the_even_ones(bench: Bench, good: list[Log]):
    values = {"pendulum.resistance_ohm": 2.5}
    even = replay(bench, good, values).errors["position"].rmse
    uneven = replay(bench, [late_frames(log, np.random.default_rng(0)) for log in good], values).errors["position"].rmse
    assert uneven < 3 * even + 0.005


def test_repeated_stamps_are_spread_and_noted(bench: Bench, good: list[Log]):
    stamps = np.floor(good[0].time_s / 0.01 + 1e-9) * 0.01
    checked = check(bench, [replace(good[0], time_s=stamps), *good[1:]])
    checked.refuse()
    assert len(checked.logs) == len(good)
    assert any("stamp of the row before" in finding.message for finding in checked.findings)


def test_a_fault_in_one_log_of_many_drops_that_log(bench: Bench, good: list[Log]):
    turned = changed(good[1], position=-good[1].columns["position"][:, 0], speed=-good[1].columns["speed"][:, 0])
    checked = check(bench, [good[0], turned, *good[2:]])
    checked.refuse()
    assert len(checked.logs) == len(good) - 1
    (dropped,) = [finding for finding in checked.findings if finding.severity == "dropped"]
    assert (dropped.kind, dropped.where) == ("sign_flip", f"{good[1].name}: position")


def test_a_copy_of_a_log_is_dropped(bench: Bench, good: list[Log]):
    checked = check(bench, [*good, replace(good[2], name="again")])
    assert [finding.where for finding in checked.findings if finding.severity == "dropped"] == ["again"]


def test_a_log_with_few_missing_numbers_is_kept_and_one_with_many_is_dropped(bench: Bench, good: list[Log]):
    def without(log: Log, rows: slice) -> Log:
        position = log.columns["position"][:, 0].copy()
        position[rows] = np.nan
        return changed(log, position=position)

    checked = check(bench, [without(good[0], slice(100, 130)), without(good[1], slice(100, 400)), *good[2:]])
    missing = {finding.where: finding.severity for finding in checked.findings if finding.kind == "non_finite"}
    assert missing == {f"{good[0].name}: position": "warning", f"{good[1].name}: position": "dropped"}


def test_a_channel_that_never_changes_is_refused(bench: Bench, good: list[Log]):
    still = [changed(log, position=np.zeros(len(log)), speed=np.zeros(len(log))) for log in good]
    assert "no_motion" in kinds(bench, still, "refused")


def test_findings_use_the_names_of_the_bench_file(bench: Bench, good: list[Log]):
    wrong = [changed(log, goal_position=np.rad2deg(log.columns["goal_position"][:, 0])) for log in good]
    messages = [str(finding) for finding in check(bench, wrong).findings]
    assert any("goal_position" in message for message in messages)
    assert not any("observation." in message or "action/" in message for message in messages)
