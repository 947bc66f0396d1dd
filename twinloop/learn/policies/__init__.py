"""The kinds of policy by name, one file per kind. Packages add more by entry points of `twinloop.policies`."""

from twinloop.learn.policies.act import ActPolicy
from twinloop.learn.policies.flow import FlowPolicy
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.policy import Policy
from twinloop.plugins import load_plugins, subclass_of

BUILTIN: dict[str, type[Policy]] = {kind.name: kind for kind in (MlpPolicy, ActPolicy, FlowPolicy)}
POLICIES: dict[str, type[Policy]] = BUILTIN | load_plugins(
    "twinloop.policies", subclass_of(Policy), "a subclass of twinloop.Policy", builtin=BUILTIN
)
