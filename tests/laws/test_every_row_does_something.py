"""Law of the parameter table: every row has a measurable effect when it is swept alone."""

import pytest

from twinloop.dashboard.effects.picture import EffectPicture, pictures_of
from twinloop.dashboard.effects.strips import StripRenderer
from twinloop.errors import RenderError
from twinloop.observe.gl import context
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import TABLE

pytest.importorskip("PIL", reason="needs twinloop[view]")


@pytest.fixture(scope="module")
def pictures() -> dict[str, EffectPicture]:
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    return {picture.row.name: picture for picture in pictures_of(TABLE, StripRenderer())}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_low_and_high_differ_measurably(row: Parameter, pictures: dict[str, EffectPicture]):
    picture = pictures[row.name]
    assert picture.clearness >= 1, f"{row.name}: the most it changes is {picture.look}, and that by too little to see"
    assert len(picture.content) < 26_000
