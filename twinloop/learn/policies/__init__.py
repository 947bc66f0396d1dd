"""The kinds of policy, by name."""

from twinloop.learn.policies.act import ActPolicy
from twinloop.learn.policies.flow import FlowPolicy
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.policy import Policy

POLICIES: dict[str, type[Policy]] = {kind.name: kind for kind in (MlpPolicy, ActPolicy, FlowPolicy)}
