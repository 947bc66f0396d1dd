"""The twin that a run config describes."""

from collections import OrderedDict

from twinloop.errors import UsageError
from twinloop.observe.clearance import refuse_blocked
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.twin.assemble import Features, assemble, features_of
from twinloop.twin.twin import Twin

_COMPILED: OrderedDict[str, Twin] = OrderedDict()
MAX_COMPILED = 4
"""Number of twins that a process keeps. Driver and worker may be one process, and evaluations share their twin."""


def twin_of(config: RunConfig) -> Twin:
    """The twin that a config describes, compiled once per process."""
    if not config.scene.is_single:
        raise UsageError(f"the config has several tasks ({', '.join(config.scene.tasks)}); name one with --task")
    digest = config.digest
    if digest not in _COMPILED:
        _COMPILED[digest] = _compile(config)
        if len(_COMPILED) > MAX_COMPILED:
            _COMPILED.popitem(last=False)
    return _COMPILED[digest]


def _compile(config: RunConfig) -> Twin:
    scene, rollout_ = config.scene, config.rollout
    features = _features(config)
    twin = assemble(
        scene.robot,
        scene.world,
        control_hz=rollout_.control_hz,
        timestep_s=rollout_.timestep_ms / 1000,
        features=features,
        layout=scene.layout,
    )
    refuse_blocked(twin, config.cameras)
    return twin


def _features(config: RunConfig) -> Features:
    """The parts of the model that the config's rows and sensors need."""
    rows = [(BY_NAME[name], distribution) for name, distribution in config.randomization.items()]
    # The longest value of every row that delays commands.
    delay_ms = sum(row.delay_line_ms * distribution.support()[1] for row, distribution in rows if row.delay_line_ms)
    return features_of(
        {part for row, _ in rows for part in row.builds},
        wrist_sensors=config.observe.wrist,
        touch=config.observe.touch,
        longest_delay_s=delay_ms / 1000,
    )
