"""The quality checks of recordings, in the order in which they run.

The first error is the verdict of the episode. Faults that make other checks meaningless come first.
"""

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.checks.action_copy import ACTION_COPY
from twinloop.curate.quality.checks.angle_wrap import ANGLE_WRAP
from twinloop.curate.quality.checks.clipped import CLIPPED
from twinloop.curate.quality.checks.clock import DECLARED_RATE, TIMESTAMP_GAP, TIMESTAMP_JITTER, TIMESTAMP_ORDER
from twinloop.curate.quality.checks.duplicate import DUPLICATE
from twinloop.curate.quality.checks.frozen_sensor import FROZEN_SENSOR
from twinloop.curate.quality.checks.mixed_joints import EARLY_MOTION, SIGN_FLIP, SWAPPED_JOINTS
from twinloop.curate.quality.checks.non_finite import NON_FINITE
from twinloop.curate.quality.checks.out_of_limits import OUT_OF_LIMITS
from twinloop.curate.quality.checks.picture_frames import FROZEN_PICTURE, PICTURE_FRAMES
from twinloop.curate.quality.checks.reading import RAGGED_COLUMNS, TRUNCATED_FILE
from twinloop.curate.quality.checks.too_short import TOO_SHORT
from twinloop.curate.quality.checks.unit_confusion import UNIT_CONFUSION
from twinloop.curate.quality.checks.value_spike import VALUE_SPIKE
from twinloop.curate.quality.checks.velocity_mismatch import VELOCITY_MISMATCH

CHECKS: tuple[QualityCheck, ...] = (
    TRUNCATED_FILE,
    RAGGED_COLUMNS,
    NON_FINITE,
    PICTURE_FRAMES,
    TOO_SHORT,
    DUPLICATE,
    TIMESTAMP_ORDER,
    DECLARED_RATE,
    TIMESTAMP_GAP,
    TIMESTAMP_JITTER,
    ANGLE_WRAP,
    VALUE_SPIKE,
    ACTION_COPY,
    CLIPPED,
    SWAPPED_JOINTS,
    SIGN_FLIP,
    EARLY_MOTION,
    UNIT_CONFUSION,
    VELOCITY_MISMATCH,
    OUT_OF_LIMITS,
    FROZEN_SENSOR,
    FROZEN_PICTURE,
)
