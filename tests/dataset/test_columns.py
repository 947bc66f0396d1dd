"""The columns of an episode are declared once, and every writer uses the declaration."""

import numpy as np
import pyarrow as pa
import pytest

from twinloop.dataset.columns import EPISODE_COLUMNS, REQUIRED, column_of, episode_arrays
from twinloop.errors import DatasetError

MINIMAL = {"attempt": [0, 1], "task": ["a", "b"], "length": [3, 4], "verdict": ["accepted"] * 2, "success": [True] * 2}


def test_names_are_unique_and_every_column_has_a_description():
    names = [column.name for column in EPISODE_COLUMNS]
    assert len(set(names)) == len(names)
    assert all(column.help for column in EPISODE_COLUMNS)


def test_values_take_the_declared_type():
    arrays = episode_arrays({**MINIMAL, "seed": np.array([1, 2], np.int32), "duration_s": [1, 2]}, where="here")
    assert arrays["seed"].type == pa.int64()
    assert arrays["duration_s"].type == pa.float64()
    assert {name: arrays[name].type for name in REQUIRED} == REQUIRED


def test_a_family_is_declared_by_its_prefix():
    assert column_of("draw/object_mass_kg") is column_of("draw/")
    assert column_of("no_family/object_mass_kg") is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({**MINIMAL, "verdikt": ["a", "b"]}, "verdikt.*not declared.*did you mean verdict"),
        ({"attempt": [0]}, "columns length, success, task, verdict are missing"),
        ({**MINIMAL, "seed": ["x", "y"]}, "here: column 'seed'"),
        ({**MINIMAL, "interventions": [0, float("nan")]}, "here: column 'interventions'.*nan"),
        ({**MINIMAL, "stats/action": [0, 0]}, "are taken"),
    ],
)
def test_invalid_columns_are_refused(columns: dict[str, list], message: str):
    with pytest.raises(DatasetError, match=message):
        episode_arrays(columns, where="here")
