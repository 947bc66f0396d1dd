"""Good recordings of many robots: arms, five-finger hands and humanoids with joints that mostly rest.

A robot is drawn from a seed: its joints, drives, encoders and recorder. The limits of a check may be chosen with
`WORKING_SEEDS`. `FIGURE_SEEDS` are for reported figures only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from twinloop.curate.quality import RecordedEpisode
from twinloop.curate.quality.recorded_episode import ACTION, STATE

Role = Literal["reach", "finger", "grip", "still", "balance", "unpowered"]
Named = tuple[str, Role]
Kind = Literal["arm", "hand", "humanoid"]
KINDS: tuple[Kind, ...] = ("arm", "hand", "humanoid")
WORKING_SEEDS = range(1000)
FIGURE_SEEDS = range(1000, 2000)

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
SUBSTEPS = 4


@dataclass(frozen=True)
class Joint:
    """One joint with its drive and encoder, in units of its own range (span 1 unless `scale` says otherwise).

    Attributes:
        role: how it is commanded; see `_command`.
        delay_s, lag_s: dead time and time constant of the drive.
        dead_band: largest position error that does not move the joint.
        sag: position error under load, as a share of the distance from the middle of the range.
        quantum: step of the encoder.
        noise: standard deviation of the encoder before rounding, in quanta.
        low, high: end stops. Commands may go beyond them.
        scale: factor from joint units to recorded units.
    """

    name: str
    role: Role
    delay_s: float
    lag_s: float
    dead_band: float
    sag: float
    quantum: float
    noise: float
    low: float
    high: float
    scale: float


@dataclass(frozen=True)
class Robot:
    """A robot and its recorder. state_every: rows between two fresh readings. tremor: noise of the operator."""

    kind: Kind
    seed: int
    rate_hz: float
    state_every: int
    tremor: float
    seconds: float
    joints: tuple[Joint, ...]


@dataclass(frozen=True)
class GoodEpisode:
    """command, state: (rows, joints) as recorded. time_s: (rows,)."""

    robot: Robot
    number: int
    time_s: np.ndarray
    command: np.ndarray
    state: np.ndarray


def draw_robot(kind: Kind, seed: int) -> Robot:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    names: list[Named] = {"arm": _arm_names, "hand": _hand_names, "humanoid": _humanoid_names}[kind](rng)
    rate_hz = float(rng.choice([20.0, 30.0, 50.0, 100.0]))
    scale = float(rng.choice([1.0, 180 / np.pi, 100.0]))
    coarse = rng.uniform() < 0.5
    joints = []
    for name, role in names:
        in_hand = role in ("finger", "grip")
        quantum = 10 ** rng.uniform(-3.3, -2.0 if in_hand or coarse else -2.7)
        joints.append(
            Joint(
                name=name,
                role=role,
                delay_s=float(rng.uniform(0.0, 0.08)),
                lag_s=float(rng.uniform(0.03, 0.15)),
                dead_band=float(quantum * rng.uniform(0, 3) + rng.choice([0.0, 0.005, 0.02, 0.04])),
                sag=float(rng.choice([0.0, 0.02, 0.08])),
                quantum=quantum,
                noise=float(rng.choice([0.0, 0.1, 0.5])),
                low=float(rng.uniform(-0.62, -0.45)),
                high=float(rng.uniform(0.45, 0.62)),
                scale=scale,
            )
        )
    return Robot(
        kind=kind,
        seed=seed,
        rate_hz=rate_hz,
        state_every=int(rng.choice([1, 1, 1, 2, 3])),
        tremor=float(rng.choice([0.0, 0.001, 0.004])),
        seconds=float(rng.uniform(6, 20)),
        joints=tuple(joints),
    )


def record(robot: Robot, episodes: int) -> Iterator[GoodEpisode]:
    yield from (_episode(robot, number) for number in range(episodes))


def _arm_names(rng: np.random.Generator) -> list[Named]:
    count = int(rng.integers(5, 8))
    joints: list[Named] = [(f"joint_{number}", "reach") for number in range(count)]
    return [*joints, ("gripper", "grip")]


def _hand_names(rng: np.random.Generator) -> list[Named]:
    per_finger = int(rng.integers(1, 5))
    wrist: list[Named] = [(f"wrist_{number}", "reach") for number in range(int(rng.integers(0, 3)))]
    names: list[Named] = [(f"{finger}_{number}", "finger") for finger in FINGERS for number in range(per_finger)]
    return wrist + _some_unpowered(names, rng)


def _humanoid_names(rng: np.random.Generator) -> list[Named]:
    per_finger = int(rng.integers(1, 4))
    legs: list[Named] = [(f"{side}_leg_{number}", "balance") for side in ("left", "right") for number in range(6)]
    waists: tuple[Role, ...] = ("balance", "still")
    waist: list[Named] = [(f"waist_{number}", waists[rng.integers(2)]) for number in range(3)]
    arms: list[Named] = [(f"{side}_arm_{number}", "reach") for side in ("left", "right") for number in range(7)]
    word = rng.choice(["{side}_{finger}_{number}", "{side}_hand_{finger}_{number}", "{finger}{number}_{side}"])
    fingers: list[Named] = [
        (word.format(side=side, finger=finger, number=number), "finger")
        for side in ("left", "right")
        for finger in FINGERS
        for number in range(per_finger)
    ]
    head: list[Named] = [(f"head_{number}", "still") for number in range(2)]
    return legs + waist + arms + _some_unpowered(fingers, rng) + head


def _some_unpowered(names: list[Named], rng: np.random.Generator) -> list[Named]:
    """Some fingers have a command channel that drives nothing, as in hands with coupled joints."""
    share = rng.choice([0.0, 0.1, 0.3])
    return [(name, "unpowered" if rng.uniform() < share else role) for name, role in names]


def _episode(robot: Robot, number: int) -> GoodEpisode:
    rng = np.random.default_rng([robot.seed, KINDS.index(robot.kind), 1, number])
    rows = int(robot.seconds * rng.uniform(0.7, 1.3) * robot.rate_hz)
    time_s = np.arange(rows) / robot.rate_hz
    grasp = _grasp(rows, rng)
    one_armed = rng.uniform() < 0.5  # a humanoid often uses one side only
    commands, states = [], []
    for joint in robot.joints:
        idle = (one_armed and "left" in joint.name) or (joint.role == "finger" and rng.uniform() < 0.5)
        command = _command(joint, rows, grasp, idle=idle, robot=robot, rng=rng)
        low, high = joint.low, joint.high
        if joint.role in ("finger", "grip") and rng.uniform() < 0.6:
            high = min(high, rng.uniform(0.0, 0.4))  # an object stops the finger
        measured = _drive(joint, command, low, high, robot.rate_hz)
        measured = np.round(measured / joint.quantum + rng.normal(0, joint.noise + 1e-12, rows)) * joint.quantum
        fresh = np.arange(rows) // robot.state_every * robot.state_every
        commands.append(command * joint.scale)
        states.append(measured[fresh] * joint.scale)
    return GoodEpisode(robot, number, time_s, np.stack(commands, axis=1), np.stack(states, axis=1))


def _command(
    joint: Joint, rows: int, grasp: np.ndarray, *, idle: bool, robot: Robot, rng: np.random.Generator
) -> np.ndarray:
    tremor = robot.tremor * _smooth_noise(rows, rng)
    rest = rng.uniform(-0.3, 0.3)
    if joint.role == "still" or idle:
        drift = rng.choice([0.0, 0.0, 1.0]) * joint.dead_band * np.linspace(0, rng.uniform(-0.8, 0.8), rows)
        jitter = rng.choice([0.0, 1.0]) * 0.5 * joint.dead_band * rng.uniform(-1, 1, rows)
        return rest + drift + jitter
    if joint.role == "balance":
        return rest + rng.uniform(0.0, 0.03) * _smooth_noise(rows, rng)
    if joint.role in ("finger", "unpowered"):
        closes = rng.uniform(0.4, 1.1)  # may be commanded beyond the end stop
        return -0.5 + closes * grasp + tremor
    if joint.role == "grip":
        return -0.5 + rng.uniform(0.8, 1.2) * grasp + tremor
    ramp = rng.uniform() < 0.15
    reach = np.linspace(0, rng.uniform(-0.15, 0.15), rows) if ramp else 0.45 * _reaches(rows, rng)
    return np.clip(rest + reach, -0.6, 0.6) + tremor


def _drive(joint: Joint, command: np.ndarray, low: float, high: float, rate_hz: float) -> np.ndarray:
    """Position of a joint that follows with delay, lag, sag and a dead band, between two stops."""
    if joint.role == "unpowered":
        return np.full(len(command), command[0])
    step_s = 1 / (rate_hz * SUBSTEPS)
    times = np.arange(len(command) * SUBSTEPS) * step_s
    target = np.interp(times - joint.delay_s, np.arange(len(command)) / rate_hz, command)
    position, moving, out = float(np.clip(target[0], low, high)), False, np.empty(len(command))
    gain = 1 - np.exp(-step_s / joint.lag_s)
    for place, goal in enumerate(target * (1 - joint.sag)):
        error = goal - position
        # Static friction: a resting joint starts beyond the dead band and stops well inside of it.
        moving = abs(error) > (0.3 * joint.dead_band if moving else joint.dead_band)
        if moving:
            position = min(max(position + gain * error, low), high)
        if place % SUBSTEPS == 0:
            out[place // SUBSTEPS] = position
    return out


def _grasp(rows: int, rng: np.random.Generator) -> np.ndarray:
    """0 open, 1 closed; closed once or twice, at different speeds."""
    out = np.zeros(rows)
    level = rng.uniform(0.6, 1.0)
    for start in ([0.2], [0.1, 0.55])[rng.integers(2)]:
        first, last = int(rows * (start + rng.uniform(0, 0.1))), int(rows * (start + rng.uniform(0.2, 0.35)))
        out[first:last] = level
    width = int(rng.choice([1, rows // 60 + 1, rows // 15 + 1]))
    padded = np.pad(out, (width // 2, width - 1 - width // 2), mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")


def _reaches(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Smooth moves between places, with pauses of different lengths, from -1 to 1."""
    count = int(rng.integers(2, 8))
    places = np.concatenate([[0.0], rng.uniform(-1, 1, count)])
    ends = np.sort(rng.uniform(0.05, 0.95, count))
    lasts = rng.uniform(0.03, 0.2, count)
    phase, out = np.linspace(0, 1, rows), np.zeros(rows)
    for before, after, end, last in zip(places[:-1], places[1:], ends, lasts, strict=True):
        s = np.clip((phase - end + last) / last, 0, 1)
        out += (after - before) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    return out


def _smooth_noise(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Correlated over about half a second, unit variance."""
    noise = np.convolve(rng.normal(size=rows + 14), np.hanning(15), mode="valid")
    return noise / max(float(noise.std()), 1e-12)


def recorded(episode: GoodEpisode) -> RecordedEpisode:
    """The episode as the quality checks read it, without units, as many recorders leave it."""
    names = tuple(joint.name for joint in episode.robot.joints)
    features = (ACTION, STATE)
    return RecordedEpisode(
        attempt=episode.number,
        label=f"episode {episode.number}",
        rate_hz=episode.robot.rate_hz,
        rows=len(episode.time_s),
        time_s=episode.time_s,
        signals={ACTION: episode.command, STATE: episode.state},
        names=dict.fromkeys(features, names),
        units=dict.fromkeys(features, ("",) * len(names)),
    )


def freeze(episode: GoodEpisode, rng: np.random.Generator, *, whole_state: bool) -> GoodEpisode | None:
    """Repeat one reading, or the whole state, for one to three seconds in which a joint moves.

    Returns:
        None if no joint moves by 30 % of its span and 10 % of its range within that time.
    """
    rows, robot = len(episode.time_s), episode.robot
    length = int(min(rng.uniform(1, 3) * robot.rate_hz, rows // 3))
    choices = [
        (index, start)
        for index, joint in enumerate(robot.joints)
        if joint.role in ("reach", "finger", "grip")
        for start in range(2, rows - length + 1, 5)
        if np.ptp(episode.state[start : start + length, index])
        > max(0.3 * np.ptp(episode.state[:, index]), 0.1 * joint.scale)
    ]
    if not choices:
        return None
    index, start = choices[rng.integers(len(choices))]
    columns = slice(None) if whole_state else slice(index, index + 1)
    state = episode.state.copy()
    state[start : start + length, columns] = state[start, columns]
    return replace(episode, state=state)
