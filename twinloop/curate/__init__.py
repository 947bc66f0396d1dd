"""Episodes -> Verdicts: whether episodes are plausible and successful. Also coverage of draws and success rates."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.curate.check import Check as Check
    from twinloop.curate.coverage import Coverage as Coverage
    from twinloop.curate.limits import CurateConfig as CurateConfig
    from twinloop.curate.rates import Rate as Rate
    from twinloop.curate.verdict import ACCEPTED as ACCEPTED
    from twinloop.curate.verdict import Verdicts as Verdicts

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Verdicts": "verdict",
        "ACCEPTED": "verdict",
        "Check": "check",
        "CurateConfig": "limits",
        "Coverage": "coverage",
        "Rate": "rates",
    },
)
