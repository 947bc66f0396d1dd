"""What an episode may do and still be believed. The defaults suit a table-top arm."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CurateConfig:
    """penetration_mm: deepest overlap of two bodies.
    object_jump_m_s: largest change of the object's velocity within a control period.
    joint_margin_deg: how far beyond its range a joint may be.
    velocity_share, torque_share: largest joint speed and torque, as a share of the maker's limit.
    contact_force_n: hardest contact.
    person_force_n: hardest the robot pressed on a person (140 N: a hand held fast, ISO/TS 15066).
    workspace_m: how far the object may be from the robot's base.
    longest_s: longest episode.
    require_success: reject what did not end in success.
    """

    penetration_mm: float = 6.0
    object_jump_m_s: float = 2.5
    joint_margin_deg: float = 0.5
    velocity_share: float = 1.0
    torque_share: float = 1.0
    contact_force_n: float = 400.0
    person_force_n: float = 140.0
    workspace_m: float = 0.95
    longest_s: float = 12.0
    require_success: bool = True
