"""Terms of all robots that move about: legs and wheels."""

from twinloop.environments.term import Term

MOBILE = ("legs", "wheels")
MOBILE_TERMS = (
    Term("collided", "termination", "1",
         "a base on wheels touches anything; the trunk of an upright legged robot touches rough or stepped ground",
         lambda step: step.robot.outcome.collided, robots=MOBILE),
    Term("stuck", "termination", "1",
         "a robot on wheels has moved less than 30 cm in 10 s; a legged one has covered less than a fifth of the "
         "commanded distance for 4 s", lambda step: step.robot.outcome.stuck, robots=MOBILE),
    Term("drawn", "observation", "1", "drawn value of every varied parameter, from 0 to 1; only for the critic",
         lambda step: step.robot.scaled_draws, robots=MOBILE, elements=lambda robot: robot.varied),
)  # fmt: skip
