import json

import pytest

from tests.dataset import synthetic
from tests.dataset.synthetic import CONFIG_TEXT, draft, header, run, verdict_of
from twinloop.dashboard.attempts import read_attempts
from twinloop.dataset import Dataset, DatasetWriter, count_rejected, describe


def test_the_numbers_add_up(tmp_path):
    digest = run(tmp_path / "d", header())
    output = json.loads(json.dumps(describe(tmp_path / "d")))
    verdicts = [verdict_of(attempt) for attempt in range(10)]
    assert output["digest"] == digest
    assert output["episodes"] == {
        "planned": 10,
        "attempted": 10,
        "accepted": verdicts.count("accepted"),
        "stored": verdicts.count("accepted"),
        "rejected": {"diverged": verdicts.count("diverged"), "dropped": verdicts.count("dropped")},
    }
    assert count_rejected(Dataset.open(tmp_path / "d")) == output["episodes"]["rejected"]
    assert output["frames"] == Dataset.open(tmp_path / "d").frame_count
    assert output["hours"] * 3600 * 50 == pytest.approx(output["frames"])
    assert output["draws"] == {"mass_kg": {"min": 0.1, "max": 0.19}, "colour": {"values": ["blue", "red"]}}
    assert output["bytes"] == sum(file.stat().st_size for file in (tmp_path / "d").rglob("*") if file.is_file())
    assert output["complete"]
    assert output["exported"]


def test_an_unfinished_dataset_is_described_as_such(tmp_path):
    with DatasetWriter.open(tmp_path / "d", header(), CONFIG_TEXT) as writer:
        empty = describe(tmp_path / "d")
        writer.commit(draft(writer.scratch("0"), 0, 4, header()))
        half = describe(tmp_path / "d")
    assert (empty["episodes"]["attempted"], empty["draws"]) == (0, {})
    assert (half["episodes"]["attempted"], half["complete"], half["exported"]) == (4, False, False)


def test_verdicts_of_older_datasets_get_their_present_names(tmp_path, monkeypatch):
    """In twinloop 0.1.0 `success` was the verdict on a failed attempt."""
    monkeypatch.setattr(synthetic, "verdict_of", lambda attempt: ("accepted", "success", "duration")[attempt % 3])
    run(tmp_path / "d", header(keep_rejected=True))
    assert describe(tmp_path / "d")["episodes"]["rejected"] == {"task_failed": 3, "too_long": 3}
    assert dict(read_attempts(Dataset.open(tmp_path / "d")).verdicts()) == {
        "accepted": 4, "task_failed": 3, "too_long": 3
    }  # fmt: skip
    failed = Dataset.open(tmp_path / "d").transitions(4, seed=0, verdict="task_failed")
    assert next(failed) is not None
