"""Did the physics engine lose the simulation? It warned, raised, or its clock did not advance."""

from twinloop.curate.check import Check

DIVERGENCE = Check(
    name="divergence",
    unit="",
    asks="did the engine warn, raise or stand still?",
    measure=lambda episodes, _twin, _config: episodes.diverged.astype(float),
    limit=lambda _config: 0.0,
    storable=False,
)
