"""The kinds of policy by name, one file each. Packages add more by entry points of `twinloop.policies`.

Importing this package does not import torch: a policy is imported when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from twinloop.catalog import Catalog

if TYPE_CHECKING:
    from twinloop.learn.policy import Policy


def _is_policy(candidate: Any) -> bool:
    from twinloop.learn.policy import Policy

    return isinstance(candidate, type) and issubclass(candidate, Policy)


POLICIES: Catalog[type["Policy"]] = Catalog(__name__, "twinloop.policies", _is_policy, "a subclass of twinloop.Policy")
