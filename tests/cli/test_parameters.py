import json

import pytest

from twinloop.cli import main


def test_a_named_parameter_is_shown_with_its_range_and_source(capsys: pytest.CaptureFixture[str]):
    assert main(["parameters", "friction_coefficient", "--json"]) == 0
    output = capsys.readouterr()
    (row,) = json.loads(output.out)["parameters"]
    text = " ".join(output.err.split())
    assert row["name"] == "friction_coefficient"
    assert "randomization: physics: friction_coefficient" in text
    assert row["source"][:30] in text
    assert "object_mass_kg" not in text


def test_an_unknown_parameter_is_refused_with_the_nearest_name(capsys: pytest.CaptureFixture[str]):
    assert main(["parameters", "friction_coeficient"]) == 2
    assert "did you mean friction_coefficient" in " ".join(capsys.readouterr().err.split())
