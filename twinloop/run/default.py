"""The default config: the pick-and-place cell of `examples/pick_and_place.yaml`."""

from importlib.resources import files
from pathlib import Path

from twinloop.run.config import RunConfig, config_from_text

NAME = "pick_and_place"


def embedded_config() -> RunConfig:
    text = files("twinloop.run").joinpath(f"{NAME}.yaml").read_text(encoding="utf-8")
    return config_from_text(text, name=f"{NAME}.yaml (embedded)", folder=Path())
