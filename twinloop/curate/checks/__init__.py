"""The plausibility checks, one a file, in the order in which they are asked.

An episode is rejected for the first that fails: what makes the others meaningless comes first, success last,
so that "success" as a reason means a clean simulation of a failed attempt. Who is hit hard is named before the
signs of any hard hit: overlap, force and jumps.
"""

from twinloop.curate.check import Check
from twinloop.curate.checks.contact_force import CONTACT_FORCE
from twinloop.curate.checks.divergence import DIVERGENCE
from twinloop.curate.checks.duration import DURATION
from twinloop.curate.checks.joint_position import JOINT_POSITION
from twinloop.curate.checks.joint_torque import JOINT_TORQUE
from twinloop.curate.checks.joint_velocity import JOINT_VELOCITY
from twinloop.curate.checks.non_finite import NON_FINITE
from twinloop.curate.checks.object_jump import OBJECT_JUMP
from twinloop.curate.checks.penetration import PENETRATION
from twinloop.curate.checks.person_force import PERSON_FORCE
from twinloop.curate.checks.success import SUCCESS
from twinloop.curate.checks.workspace import WORKSPACE
from twinloop.plugins import instance_of, load_plugins

BUILTIN: tuple[Check, ...] = (
    DIVERGENCE,
    NON_FINITE,
    WORKSPACE,
    PERSON_FORCE,
    OBJECT_JUMP,
    PENETRATION,
    CONTACT_FORCE,
    JOINT_POSITION,
    JOINT_VELOCITY,
    JOINT_TORQUE,
    DURATION,
    SUCCESS,
)
PLUGINS: tuple[Check, ...] = tuple(
    load_plugins(
        "twinloop.checks", instance_of(Check), "a twinloop.Check", builtin=[check.name for check in BUILTIN]
    ).values()
)
CHECKS: tuple[Check, ...] = (*BUILTIN[:-1], *PLUGINS, BUILTIN[-1])
"""Checks of other packages (entry points of `twinloop.checks`) come before the last one, which is about success."""
