"""Arms with links of a decimetre: where their bases stand, and the ring in which they work."""

from pathlib import Path

import pytest

from tests.twin.jaws import proposal_of

pytestmark = pytest.mark.usefixtures("no_trials")

LINKS = (
    ("pan", "0 0 1", "0 0 0.04", (-2.0, 2.0)),
    ("lift", "0 1 0", "0 0 0.02", (-0.6, 1.5)),
    ("elbow", "0 1 0", "0 0 0.11", (-2.6, 2.6)),
    ("bend", "0 1 0", "0 0 0.1", (-2.0, 2.0)),
    ("roll", "0 0 1", "0 0 0.045", (-3.1, 3.1)),
)


def small_arm() -> str:
    """Five axes and two fingers that slide, 0.3 m from the shoulder to the tips."""
    links, ends, servos = "", "", ""
    for name, axis, place, (low, high) in LINKS:
        links += f"<body name='{name}' pos='{place}'><joint name='{name}' axis='{axis}' range='{low} {high}'/>"
        links += "<geom type='capsule' fromto='0 0 0 0 0 .03' size='.01' mass='.05'/>"
        servos += f"<position joint='{name}' kp='30' kv='1' forcerange='-5 5' ctrlrange='{low} {high}'/>"
        ends += "</body>"
    for side, sign in (("left", 1), ("right", -1)):
        links += f"<body name='{side}' pos='0 0 .05'><joint name='{side}' type='slide' axis='0 {sign} 0' range='0 .03'"
        links += " armature='.02' damping='5'/>"
        links += f"<geom type='box' size='.006 .003 .015' pos='0 {0.003 * sign} .015' mass='.01'/></body>"
    return (
        f"<mujoco><compiler angle='radian'/><worldbody>{links}{ends}</worldbody><equality>"
        "<joint joint1='right' joint2='left' polycoef='0 1 0 0 0'/></equality><actuator>"
        f"{servos}<position joint='left' kp='500' kv='20' forcerange='-40 40' ctrlrange='0 .03'/></actuator></mujoco>"
    )


def test_a_small_arm_works_in_a_ring_around_it(folder: Path):
    (folder / "arm.xml").write_text(small_arm())
    proposal, _ = proposal_of(folder / "arm.xml")
    area = proposal.mapping["area"]
    assert area["farthest_m"] - area["nearest_m"] > 0.06
    assert area["nearest_m"] < 0.09
