"""Convert Episodes to a Recording: recorded channels, their names and units."""

from dataclasses import replace

import numpy as np

from twinloop.observe.recording import Feature, Recording
from twinloop.observe.sensors import SEEN, ObserveConfig, sense
from twinloop.simulate.episodes import Episodes
from twinloop.twin.robot import Robot
from twinloop.twin.soft import SoftIndex
from twinloop.twin.touch import PARTS as TOUCHED
from twinloop.twin.twin import Twin

# feature -> the channel of the tape it comes from
SOURCES = {
    "observation.state": "position",
    "observation.velocity": "velocity",
    "observation.effort": "effort",
    "observation.environment_state": "environment",
    "observation.force_torque": "wrench",
    "observation.imu": "inertial",
    "observation.touch": "touch",
    "object_nodes": "nodes",
    "action": "action",
    "command": "command",
    "contact": "contact",
    "phase": "phase",
    "subtask_index": None,
    "next.reward": "reward",
    "next.done": None,
    "next.success": "success",
}

CLEAN = "clean."  # the true values of features that a sensor measures


def features_of(twin: Twin, config: ObserveConfig) -> tuple[Feature, ...]:
    seen = _seen_features(twin)
    if not config.keep_clean:
        return seen
    return seen + tuple(replace(feature, name=CLEAN + feature.name) for feature in seen if _sensed(feature))


def _sensed(feature: Feature) -> bool:
    return SOURCES[feature.name] in SEEN


def _seen_features(twin: Twin) -> tuple[Feature, ...]:
    joints = twin.robot.state_names
    size = (len(joints),)
    gripper = "; ".join(dict.fromkeys(arm.gripper.unit for arm in twin.robot.arms))
    return (
        Feature("observation.state", "float32", size, joints, f"rad; {gripper}"),
        Feature("observation.velocity", "float32", size, joints, "rad/s; " + gripper.replace(";", "/s;") + "/s"),
        Feature("observation.effort", "float32", size, joints, "N·m; N"),
        Feature(
            "observation.environment_state",
            "float32",
            (twin.environment_size,),
            twin.environment_names,
            "m; quaternion" + _joint_units(twin),
        ),
        *(_wrist_features(twin.robot) if twin.has_wrist_sensors else ()),
        *((_touch_feature(twin.robot),) if twin.has_touch else ()),
        Feature("action", "float32", size, joints, f"rad; {gripper}"),
        Feature("command", "float32", size, joints, f"rad; {gripper}"),
        _contact_feature(twin),
        *(_nodes_feature(index.soft) for index in twin.things if index.soft is not None),
        Feature("phase", "int64", (1,)),
        Feature("subtask_index", "int64", (1,)),
        Feature("next.reward", "float32", (1,)),
        Feature("next.done", "bool", (1,)),
        Feature("next.success", "bool", (1,)),
    )


def _joint_units(twin: Twin) -> str:
    """Units of the coordinates of fixtures, each once."""
    units = dict.fromkeys(index.fixture.joint.unit for index in twin.fixtures if index.fixture.joint is not None)
    return "".join(f"; {unit}" for unit in units)


def _contact_feature(twin: Twin) -> Feature:
    names = (*(finger for index in twin.arms for finger in index.fingers), "support")
    return Feature("contact", "float32", (len(names),), names, "N")


def _touch_feature(robot: Robot) -> Feature:
    names = tuple(arm.named(part) for arm in robot.arms for part in TOUCHED)
    return Feature("observation.touch", "float32", (len(names),), names, "N")


def _wrist_features(robot: Robot) -> tuple[Feature, ...]:
    axes = ("x", "y", "z")
    forces = _named(tuple(arm.named(part) for arm in robot.arms for part in ("force", "torque")), axes)
    inertial = _named(tuple(arm.named(part) for arm in robot.arms for part in ("acceleration", "turn_rate")), axes)
    return (
        Feature("observation.force_torque", "float32", (len(forces),), forces, "N; N·m; tool frame"),
        Feature("observation.imu", "float32", (len(inertial),), inertial, "m/s²; rad/s; tool frame"),
    )


def _nodes_feature(soft: SoftIndex) -> Feature:
    """Positions of the corners of a soft object, which describe its deformation."""
    corners = tuple(f"corner{number}" for number in range(len(soft.bodies)))
    return Feature("object_nodes", "float32", (3 * len(corners),), _named(corners, ("x", "y", "z")), "m; world frame")


def _named(things: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{thing}.{part}" for thing in things for part in parts)


def observe(episodes: Episodes, twin: Twin, config: ObserveConfig, *, seed: int) -> Recording:
    features = features_of(twin, config)
    seen = sense(episodes, twin, config, seed=seed)
    frames = {}
    for feature in features:
        channel = SOURCES[feature.name.removeprefix(CLEAN)]
        if feature.name == "subtask_index":
            values = _subtasks(episodes, twin)
        elif channel is None:
            values = _last_frames(episodes)
        elif channel in seen and not feature.name.startswith(CLEAN):
            values = seen[channel]
        else:
            values = episodes[channel]
        if feature.shape == (1,):
            values = values.reshape(-1)
        frames[feature.name] = np.ascontiguousarray(values, dtype=feature.dtype)
    return Recording(
        attempts=episodes.draws.attempts,
        lengths=episodes.lengths,
        tasks=tuple(instruction for instruction, _ in twin.spoken(episodes.draws.values)),
        features=features,
        frames=frames,
    )


def _subtasks(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(frames,) index of the sub-task of each frame."""
    numbers = twin.subtask_numbers(episodes.draws.values)
    # The last frame of a diverged episode may hold NaN. It is never stored.
    phase = np.nan_to_num(episodes["phase"][:, 0]).astype(int)
    return numbers[np.repeat(np.arange(len(numbers)), episodes.lengths), phase]


def _last_frames(episodes: Episodes) -> np.ndarray:
    done = np.zeros(int(episodes.lengths.sum()), bool)
    done[(episodes.starts + episodes.lengths - 1)[episodes.lengths > 0]] = True
    return done
