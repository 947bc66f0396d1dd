"""The kinds of policy, by name."""

from twinloop.learn.policies.mlp import Mlp
from twinloop.learn.policy import Policy

POLICIES: dict[str, type[Policy]] = {kind.name: kind for kind in (Mlp,)}
