"""The motion that tells most about a robot's drive: D-optimal among motions within its limits.

A motion is worth the determinant of the information that its log gives about the drive of every joint: slopes of the
simulated positions against the fit variables, by finite differences of the twin, over the noise of the encoders. All
candidates are simulated in one batch. Several motions are chosen one after the other, each for what it adds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from twinloop.calibrate.bench import at_logged_rate
from twinloop.calibrate.config_bench import GRIPPER, STATE, bench_of
from twinloop.calibrate.identify import KNOWN_STD
from twinloop.calibrate.logs import Log
from twinloop.calibrate.motion_plan import Reach, candidate_motions
from twinloop.calibrate.objective import Objective
from twinloop.calibrate.posterior import PRIOR
from twinloop.deploy.robot import Description
from twinloop.errors import UsageError
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of

NOISE_RAD = 2e-3
"""Noise of an encoder and of the model, for the information. It only weighs variables against the prior."""
CANDIDATES = 16


@dataclass(frozen=True)
class ExcitationPlan:
    """Motions to run on a robot.

    Attributes:
        motions: (frames, joints and gripper) commands of each.
        rate_hz: frames a second.
        std: fit variable -> expected posterior deviation after all motions, as a share of its bounds.
        typical_std: the same for the median candidate, for comparison.
    """

    motions: tuple[np.ndarray, ...]
    rate_hz: float
    std: Mapping[str, float]
    typical_std: Mapping[str, float]

    @property
    def known(self) -> tuple[str, ...]:
        """Fit variables that the motions are expected to determine."""
        return tuple(name for name, std in self.std.items() if std <= KNOWN_STD)


def design_excitation(
    config: RunConfig,
    about: Description,
    *,
    seconds: float,
    motions: int = 1,
    candidates: int = CANDIDATES,
    speed: float = 1.0,
    seed: int,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> ExcitationPlan:
    """Choose motions for the robot of a config.

    Args:
        about: the robot that will move, with its limits.
        seconds: length of each motion.
        motions: how many.
        candidates: motions that are simulated, to choose from.
        speed: factor on the limits of speed and acceleration.

    Raises:
        UsageError: the robot is another one than the config's, or no motion about home is free.
    """
    robot = config.scene.robot
    if about.robot != robot.name:
        raise UsageError(
            f"--robot {about.id}: is a {about.robot}, and the config has robot {robot.name}; give the config of the "
            "robot that moves"
        )
    home = np.array(about.home[: len(robot.arm_joints)])
    limits = about.limits
    limits = replace(limits, velocity=speed * limits.velocity, acceleration=speed * limits.acceleration)
    reach = Reach(twin_of(config), home, limits)
    blocked = reach.obstacle(home[None])
    if blocked:
        raise UsageError(
            f"--robot {about.id}: no excitation from its home position: {blocked}; change `home` of its joints, or "
            "widen `workspace_m`, in the robot's file"
        )
    plans: list[np.ndarray] = []
    source = candidate_motions(reach, seconds=seconds, rate_hz=about.rate_hz, rng=np.random.default_rng(seed))
    for number in range(2 * candidates):
        plan = next(source)
        if len(plan):
            plans.append(plan)
        if on_progress is not None:
            on_progress("planning motions", number + 1, 2 * candidates)
        if len(plans) == candidates:
            break
    if not plans:
        box = ", ".join(
            f"{axis} {low:g} to {high:g}" for axis, (low, high) in zip("xyz", limits.workspace_m, strict=True)
        )
        raise UsageError(
            f"--robot {about.id}: no motion about its home position stays in the workspace ({box} m) and free of "
            "collisions; move `home` of its joints towards the middle, or widen `workspace_m`, in the robot's "
            "file"
        )
    names, information = _information(config, plans, about.rate_hz)
    if on_progress is not None:
        on_progress("simulating motions", 1, 1)
    total, chosen = PRIOR * np.eye(len(names)), []
    for _ in range(motions):
        # A motion that is played twice tells less of a real robot than it seems: what it does not excite stays so.
        new = [place for place in range(len(plans)) if place not in chosen] or range(len(plans))
        chosen.append(max(new, key=lambda place: np.linalg.slogdet(total + information[place])[1]))
        total = total + information[chosen[-1]]
    order = np.argsort([np.linalg.slogdet(PRIOR * np.eye(len(names)) + matrix)[1] for matrix in information])
    typical = PRIOR * np.eye(len(names)) + motions * information[order[len(order) // 2]]
    gripper = about.home[len(home) :]
    return ExcitationPlan(
        motions=tuple(np.column_stack([plans[place], np.tile(gripper, (len(plans[place]), 1))]) for place in chosen),
        rate_hz=about.rate_hz,
        std=dict(zip(names, np.sqrt(np.diag(np.linalg.inv(total))).tolist(), strict=True)),
        typical_std=dict(zip(names, np.sqrt(np.diag(np.linalg.inv(typical))).tolist(), strict=True)),
    )


def _information(config: RunConfig, plans: list[np.ndarray], rate_hz: float) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the fit variables, and the (plans, variables, variables) information of each plan about their places."""
    logs = [_log(config, plan, rate_hz, number) for number, plan in enumerate(plans)]
    bench = at_logged_rate(bench_of(config, logs, name="excitation"), logs)
    # Coupled: without a log there is no measured motion that the decoupled simulation could follow.
    objective = Objective(bench, logs, bench.fit, decoupled=False)
    objective.scale[:] = NOISE_RAD
    _, slopes = objective.linearised(objective.start)
    rows = [slopes[objective.log_of == number] for number in range(len(plans))]
    return objective.names, np.stack([slope.T @ slope for slope in rows])


def _log(config: RunConfig, plan: np.ndarray, rate_hz: float, number: int) -> Log:
    """A log with the commands of a plan, whose measurements are not used."""
    robot = config.scene.robot
    names, opening = (*robot.arm_joints, GRIPPER), np.full(len(plan), robot.gripper.open)
    rows = np.column_stack([plan, opening])
    return Log(
        f"plan_{number}", np.arange(len(plan)) / rate_hz, {STATE: rows, "command": rows}, {},
        {STATE: names, "command": names}, str(number),
    )  # fmt: skip
