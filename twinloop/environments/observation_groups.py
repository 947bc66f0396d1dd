"""ObservationGroups: the flat vectors of policy and critic, from sensor features and privileged terms."""

import numpy as np

from twinloop.environments.embodiment import Embodiment
from twinloop.environments.table import terms_of
from twinloop.environments.term import StepState, Term
from twinloop.errors import TermError, UsageError, nearest
from twinloop.observe.recording import Feature


class ObservationGroups:
    """The observations of policy and critic.

    The policy sees features that the robot's sensors give, as datasets record them. The critic sees the same and the
    privileged features and terms, which exist in simulation only.

    Attributes:
        inputs: features of the policy.
        names: name of every element of the policy's vector.
        critic_names: of the critic's vector, which begins with the policy's.
    """

    def __init__(self, robot: Embodiment, observations: tuple[str, ...], privileged: tuple[str, ...]):
        features = {feature.name: feature for feature in robot.features}
        terms = terms_of(robot, "observation")
        for name in observations:
            if name not in features:
                hint = "it exists in simulation only; list it under `privileged`" if name in terms else ""
                hint = hint or nearest(name, features, most=3)
                raise UsageError(f"environment.observations: {robot.robot} has no sensor for {name!r}; {hint}")
        for name in privileged:
            if name not in features and name not in terms:
                raise UsageError(
                    f"environment.privileged: {name!r} is no feature or observation term of {robot.robot}; "
                    f"{nearest(name, [*features, *terms], most=3)}"
                )
        self.inputs: tuple[Feature, ...] = tuple(features[name] for name in observations)
        self._extra = tuple(name for name in privileged if name in features and name not in observations)
        self.terms: tuple[Term, ...] = tuple(terms[name] for name in privileged if name in terms)
        self.names = _element_names(self.inputs)
        extra = _element_names(tuple(features[name] for name in self._extra))
        extra += tuple(
            f"{term.name}.{element}" for term in self.terms if term.elements for element in term.elements(robot)
        )
        self.critic_names = self.names + extra

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the embodiment must provide."""
        return (*(feature.name for feature in self.inputs), *self._extra)

    def policy(self, seen: dict[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([seen[feature.name] for feature in self.inputs], axis=1)

    def critic(self, policy: np.ndarray, seen: dict[str, np.ndarray], step: StepState, ids: np.ndarray) -> np.ndarray:
        """(len(ids), elements). `policy` and `seen` are those of environments `ids`."""
        with np.errstate(all="ignore"):
            values = [term.function(step)[ids].astype(np.float32) for term in self.terms]
        return np.concatenate([policy, *(seen[name] for name in self._extra), *values], axis=1)

    def refuse_non_finite(self, values: np.ndarray, names: tuple[str, ...], ids: np.ndarray, episodes: np.ndarray):
        """Raise TermError for the first element that is not finite."""
        if np.isfinite(values.sum()):
            return
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            row, column = wrong[0]
            raise TermError(
                f"observation {names[column]} is {values[row, column]} in environment {ids[row]} "
                f"(episode {episodes[ids[row]]})"
            )


def _element_names(features: tuple[Feature, ...]) -> tuple[str, ...]:
    return tuple(
        f"{feature.name}.{element}"
        for feature in features
        for element in (feature.names or map(str, range(feature.shape[0])))
    )
