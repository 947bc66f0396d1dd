"""The twin that a run config describes."""

from collections import OrderedDict

from twinloop.errors import UsageError
from twinloop.observe.clearance import refuse_blocked
from twinloop.run.config import RunConfig
from twinloop.twin.assemble import Features, assemble
from twinloop.twin.surroundings import asked_for
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
    rows = {name.partition(".")[0] for name in config.randomization}
    features = Features(
        rolling_friction="rolling_friction_mm" in rows,
        off_centre_mass="object_com_offset_mm" in rows or "heavy_insert_share" in rows,
        wrist_sensors=config.observe.wrist,
        clutter="clutter_count" in rows,
        longest_delay_s=_longest_delay_s(config),
        shapes="object_shape" in rows,
        two_materials="surface_friction_ratio" in rows,
        soft_pads="pad_stiffness_n_mm" in rows,
        touch=config.observe.touch,
        surroundings=asked_for(rows),
    )
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


def _longest_delay_s(config: RunConfig) -> float:
    """Length of the delay lines: the longest drawn delay plus four standard deviations of its jitter."""
    rows = config.randomization
    longest_ms = rows["action_delay_ms"].support()[1] if "action_delay_ms" in rows else 0.0
    jitter_ms = rows["action_jitter_ms"].support()[1] if "action_jitter_ms" in rows else 0.0
    return (longest_ms + 4 * jitter_ms) / 1000
