"""Was any contact harder than the cell would survive?"""

from twinloop.curate.check import Check

CONTACT_FORCE = Check(
    name="contact_force",
    unit="N",
    asks="how hard was the hardest contact?",
    measure=lambda episodes, _twin, _config: episodes.worst(episodes["hardest_contact"][:, 0]),
    limit=lambda config: config.contact_force_n,
)
