"""environments/: RunConfig -> environments for reinforcement learning, with Gymnasium's vector interface.

    make.py                vector_env: a config -> VectorTwinEnv; KINDS lists the kinds of robots
    vector_env.py          VectorTwinEnv: time, rewards, ends of episodes, autoreset, saving and resuming; for any robot
    embodiment.py          Embodiment: the part that depends on the robot
    arm.py                 ArmEmbodiment: arms, through the same Twin, Sampler, Cell, sensors and drives as datasets
    term.py, table.py      Term, and the one table of observation, reward, termination and curriculum terms
    general_terms.py, arm_terms.py, mobile_terms.py, legs_terms.py, wheels_terms.py     the rows of the table
    mobile.py              MobileEmbodiment: what legs.py and wheels.py share
    mobile_rollout.py      episodes of legs and wheels, frame by frame, for datasets and evaluations
    curriculum.py          Curriculum: changes what later episodes draw
    registration.py        Gymnasium ids such as `twinloop/PickAndPlace-v0`

Another kind of robot adds:
1. a subclass of Embodiment: its features as datasets record them, `scale` for what actions mean, `draw` and `begin` for
   resets, `step`, `observe`, `succeeded`, `diverged`, and `defaults` with the names of its terms;
2. its terms, as a tuple of Term with `robots=("legs",)`, appended to `BUILTIN` in table.py. Functions get a StepState,
   whose `robot` is the embodiment, and return one row per environment;
3. an EmbodimentKind at the beginning of `KINDS` in make.py, which says which configs are for it.
An episode must depend on its draws and commands only, and `begin` must reset all state of a slot: then reproducibility,
saving and resuming, time limits, checks of finite values, PPO, distillation and randomization curricula work unchanged.
"""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.environments.embodiment import ActionScale as ActionScale
    from twinloop.environments.embodiment import Embodiment as Embodiment
    from twinloop.environments.embodiment import TermDefaults as TermDefaults
    from twinloop.environments.make import vector_env as vector_env
    from twinloop.environments.term import StepState as StepState
    from twinloop.environments.term import Term as Term
    from twinloop.environments.vector_env import VectorTwinEnv as VectorTwinEnv

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ActionScale": "embodiment",
        "Embodiment": "embodiment",
        "TermDefaults": "embodiment",
        "vector_env": "make",
        "StepState": "term",
        "Term": "term",
        "VectorTwinEnv": "vector_env",
    },
)
