import dataclasses
import json

import jsonschema
import pytest

from tests.dataset.synthetic import FEATURES, header
from twinloop.dataset import Header, dataset_digest
from twinloop.dataset.header import dataset_schema
from twinloop.dataset.identity import differences
from twinloop.dataset.seal import unsealed
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature


def test_round_trip(tmp_path):
    path = tmp_path / "dataset.json"
    path.write_bytes(header(fps=12.5).to_bytes())
    assert Header.read(path) == header(fps=12.5)


def test_what_is_written_fits_the_schema():
    for one in (header(), header(fps=12.5, cuts=(0, 4), episodes=8)):
        jsonschema.Draft202012Validator(dataset_schema()).validate(json.loads(one.to_bytes()))


def test_one_frame_rate_has_one_digest():
    assert dataset_digest(header(fps=50.0), []) == dataset_digest(header(fps=50), [])


@pytest.mark.parametrize(
    "change",
    [
        {"config_digest": "tea"},
        {"run_seed": 8},
        {"fps": 25},
        {"features": FEATURES[:-1]},
        {"versions": {"twinloop": "0.1.0", "mujoco": "4.1"}},
    ],
)
def test_the_digest_depends_on_fields_that_decide_the_data(change):
    assert dataset_digest(header(**change), []) != dataset_digest(header(), [])


@pytest.mark.parametrize("change", [{"name": "other"}, {"episodes": 400}])
def test_the_digest_ignores_other_fields(change):
    assert dataset_digest(header(**change), []) == dataset_digest(header(), [])


def test_the_plan_covers_every_attempt_once():
    plan = header(episodes=10, shard_episodes=4).plan()
    assert plan == [(0, 4), (4, 8), (8, 10)]
    assert header(episodes=0).plan() == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fps", "fast"),
        ("fps", 0),
        ("source", "dream"),
        ("run_seed", 1.5),
        ("shard_episodes", 0),
        ("keep_rejected", 1),
        ("features", [{"name": "x", "dtype": "float16", "shape": [3]}]),
        ("features", [{"name": "x", "dtype": "float32", "shape": [3, 3]}]),
        ("features", 3),
        ("format_version", 99),
    ],
)
def test_a_malformed_header_is_refused_by_file_and_key(tmp_path, key, value):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({**unsealed(header().to_bytes()), key: value}))
    with pytest.raises(DatasetError, match=key) as caught:
        Header.read(path)
    assert str(path) in str(caught.value)


def test_missing_and_unknown_keys_are_named(tmp_path):
    path = tmp_path / "dataset.json"
    values = unsealed(header().to_bytes())
    path.write_text(json.dumps({key: value for key, value in values.items() if key != "robot"}))
    with pytest.raises(DatasetError, match="robot: is missing"):
        Header.read(path)
    path.write_text(json.dumps({**values, "robott": "x"}))
    with pytest.raises(DatasetError, match="did you mean robot"):
        Header.read(path)
    path.write_text("[1]")
    with pytest.raises(DatasetError, match="a mapping was expected"):
        Header.read(path)
    path.write_text("{")
    with pytest.raises(DatasetError, match="is not JSON"):
        Header.read(path)


def test_differences_name_the_feature_and_both_sides():
    turned = dataclasses.replace(FEATURES[0], unit="mm")
    other = header(features=(turned, *FEATURES[1:], Feature("force", "float32", (3,))), run_seed=8)
    result = {difference.key: (difference.one, difference.other) for difference in differences(header(), other)}
    assert result == {
        "feature observation.state": ("float32[3] [x, y, z] in m", "float32[3] [x, y, z] in mm"),
        "feature force": ("absent", "float32[3]"),
        "run_seed": ("7", "8"),
    }
    reordered = header(features=FEATURES[::-1])
    assert [difference.key for difference in differences(header(), reordered)] == ["order of features"]
