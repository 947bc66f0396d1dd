"""Skills: each makes the phases of one thing that a robot can do. A task's program is a sequence of them."""

from twinloop.twin.skills.carry import carry as carry
from twinloop.twin.skills.grasp import grasp as grasp
from twinloop.twin.skills.hand_over import hand_over as hand_over
from twinloop.twin.skills.hang import hang as hang
from twinloop.twin.skills.hold import hold as hold
from twinloop.twin.skills.insert import insert as insert
from twinloop.twin.skills.lay import lay as lay
from twinloop.twin.skills.lift import lift as lift
from twinloop.twin.skills.lift_together import lift_together as lift_together
from twinloop.twin.skills.pass_on import pass_on as pass_on
from twinloop.twin.skills.place import place as place
from twinloop.twin.skills.pour import pour as pour
from twinloop.twin.skills.press import press as press
from twinloop.twin.skills.pull import pull as pull
from twinloop.twin.skills.push import push as push
from twinloop.twin.skills.reach import reach as reach
from twinloop.twin.skills.regrasp import regrasp as regrasp
from twinloop.twin.skills.retreat import retreat as retreat
from twinloop.twin.skills.shove import shove as shove
from twinloop.twin.skills.turn import turn as turn
from twinloop.twin.skills.upend import upend as upend
from twinloop.twin.skills.wipe import wipe as wipe
