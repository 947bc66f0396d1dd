"""(Twin, run seed, i) -> Draws: the values of all parameters that episode i varies."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.randomize.distribution import Distribution as Distribution
    from twinloop.randomize.draw import Draws as Draws
    from twinloop.randomize.draw import Sampler as Sampler
    from twinloop.randomize.parameter import GAPS as GAPS
    from twinloop.randomize.parameter import Gap as Gap
    from twinloop.randomize.parameter import Parameter as Parameter
    from twinloop.randomize.table import TABLE as TABLE

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Draws": "draw",
        "Sampler": "draw",
        "Parameter": "parameter",
        "Gap": "parameter",
        "GAPS": "parameter",
        "Distribution": "distribution",
        "TABLE": "table",
    },
)
