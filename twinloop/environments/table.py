"""The table of terms: observations, rewards, ends of episodes and curricula, of this package and of plugins."""

from functools import lru_cache

from twinloop.environments.arm_terms import ARM_TERMS
from twinloop.environments.embodiment import Embodiment
from twinloop.environments.general_terms import GENERAL_TERMS
from twinloop.environments.legs_terms import LEGS_TERMS
from twinloop.environments.mobile_terms import MOBILE_TERMS
from twinloop.environments.term import Term, TermKind
from twinloop.environments.wheels_terms import WHEELS_TERMS
from twinloop.errors import UsageError, nearest
from twinloop.plugins import instance_of, load_plugins

BUILTIN: tuple[Term, ...] = (*GENERAL_TERMS, *ARM_TERMS, *MOBILE_TERMS, *LEGS_TERMS, *WHEELS_TERMS)


@lru_cache(maxsize=1)
def all_terms() -> tuple[Term, ...]:
    builtin = [term.name for term in BUILTIN]
    plugins = load_plugins("twinloop.terms", instance_of(Term), "a twinloop.environments.Term", builtin=builtin)
    return (*BUILTIN, *plugins.values())


def terms_of(robot: Embodiment, kind: TermKind) -> dict[str, Term]:
    """Name -> term, of those that this robot has."""
    return {
        term.name: term for term in all_terms() if term.kind == kind and (not term.robots or robot.kind in term.robots)
    }


def chosen_terms(robot: Embodiment, kind: TermKind, names: tuple[str, ...], *, key: str) -> tuple[Term, ...]:
    """The terms of these names. Raise UsageError for a name that this robot does not have."""
    known = terms_of(robot, kind)
    for name in names:
        if name not in known:
            raise UsageError(
                f"environment.{key}: {name!r} is not a {kind} term of {robot.robot}; {nearest(name, known, most=3)}"
            )
    return tuple(known[name] for name in names)
