"""Rows of the parameter table that several tasks leave at their nominal values, and why."""

MANY_CONTACTS = ("solver_iterations",)
"""The range of solver steps is for one grasp. More contacts need more steps."""
NARROW_HOLE = ("contact_margin_mm",)
"""Contacts begin at this distance, so a margin makes a hole narrower by twice its value: a hole with a clearance of
0.5 mm would be smaller than its peg."""
HEAVY_INSERT = ("heavy_insert_share", "heavy_insert_place")
SMALL_GRAINS = (*HEAVY_INSERT, "object_com_offset_mm", "torsional_friction_mm")
"""These ranges are for things that fill a hand. A grain whose mass is half a radius off its centre, or that rests on
patches wider than itself, does not roll."""
