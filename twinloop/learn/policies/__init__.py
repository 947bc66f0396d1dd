"""The kinds of policy, by name."""

from twinloop.learn.policies.act import Act
from twinloop.learn.policies.flow import Flow
from twinloop.learn.policies.mlp import Mlp
from twinloop.learn.policy import Policy

POLICIES: dict[str, type[Policy]] = {kind.name: kind for kind in (Mlp, Act, Flow)}
