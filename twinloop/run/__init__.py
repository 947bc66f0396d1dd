"""RunConfig: the contents of a config file for one run, and the twin that it describes."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.run.config import RunConfig as RunConfig
    from twinloop.run.config import config_from_text as config_from_text
    from twinloop.run.config import load_config as load_config
    from twinloop.run.default import embedded_config as embedded_config
    from twinloop.run.twin import twin_of as twin_of

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "RunConfig": "config",
        "load_config": "config",
        "config_from_text": "config",
        "embedded_config": "default",
        "twin_of": "twin",
    },
)
