"""A row of the surroundings that is swept shows, whether or not the config names it or the row it needs."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.errors import RenderError
from twinloop.observe.camera import CameraConfig
from twinloop.observe.gl import context
from twinloop.run.default import embedded_config
from twinloop.run.gallery import gallery

FAR = {"far": CameraConfig("fixed", (1.5, -0.5, 1.0), (0.4, 0.0, 0.05), 45.0, 96, 96, 25)}


@pytest.mark.parametrize(
    "row",
    ["distractor_count", "distractor_place_cm", "occluder_share", "occluder_side_deg", "occluder_width_cm",
     "unexpected_item_probability", "unexpected_item_height_cm", "unexpected_item_place_cm.y", "time_of_day_h",
     "daylight_intensity", "room_heading_deg", "table_tilt_deg", "floor_reflectance",
     "bystander_probability", "bystander_side_deg", "bystander_offset_cm", "bystander_height_cm",
     "bystander_reach_cm", "bystander_arrival_s", "clutter_place_cm"],
)  # fmt: skip
def test_every_visual_row_changes_the_image(row: str):
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    config = replace(embedded_config(), cameras=FAR, randomization={})
    # Three: the ends of a full turn are the same.
    first, middle, last = (pictures[0].rgb.astype(int) for pictures in gallery(config, count=3, sweep=row))
    changed = np.maximum(np.abs(middle - first), np.abs(last - first)).max(axis=2) > 8
    assert changed.mean() > 0.002
