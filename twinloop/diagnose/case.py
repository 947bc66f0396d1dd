"""RobotCase: the episodes of a policy on a robot, and how its counterfactuals are simulated, for any kind of robot."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset import Dataset
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.counterfactuals import CounterfactualJob, limited, simulate_counterfactuals
from twinloop.diagnose.hypothesis_set import MOBILE_TOLERANCE, Chunk
from twinloop.diagnose.mobile_counterfactuals import simulate_mobile
from twinloop.diagnose.robot_episodes import read_episodes, read_mobile_episodes
from twinloop.diagnose.snapshots import camera_names
from twinloop.diagnose.traits import Arm, EpisodeTrace, MobileTrace, mobile_model
from twinloop.environments.make import mobile_embodiment
from twinloop.gate.mobile_rollouts import refuse_other_robot
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig
from twinloop.run.twin import twin_of

SimulateJob = Callable[[CounterfactualJob, Iterable[Chunk]], Iterator[tuple[Chunk, list[CounterfactualCell]]]]


@dataclass(frozen=True)
class RobotCase:
    """The episodes and the simulator that a diagnosis compares.

    Attributes:
        robot: name of the twin's robot.
        real, traces: outcomes and frames of the policy's episodes on the robot.
        job, simulate: the counterfactuals, and the function that simulates chunks of them.
        arm_weight_n: weight of the arm's links in the twin; None for legs and wheels.
        tolerance: size up to which every row may be wrong (`small_errors.py`); None for arms.
    """

    robot: str
    real: RealEpisodes
    traces: Sequence[EpisodeTrace | MobileTrace]
    job: CounterfactualJob
    simulate: SimulateJob
    arm_weight_n: float | None = None
    tolerance: float | None = None


def case_of(
    config: RunConfig,
    candidate: Candidate,
    datasets: Sequence[Dataset],
    real: RealEpisodes,
    *,
    config_name: str,
    acting: ActingConfig,
    episodes: int,
    seed: int,
) -> RobotCase:
    """Read the policy's episodes from runlogs.

    Args:
        datasets: the runlogs, in the order of `real.log`.
        real: outcomes of all episodes of these runlogs.
        episodes: episodes of each counterfactual cell.

    Raises:
        CheckpointError: the policy does not fit the config.
        UsageError: too few episodes of the policy, or a runlog of another robot.
    """
    text, folder = config.to_yaml(), str(Path.cwd())
    job = CounterfactualJob(text, folder, candidate.load, acting, episodes, seed, (), paired=True)
    if isinstance(config, MobileConfig):
        refuse_other_robot(candidate, config, config_name=config_name)
        robot = mobile_embodiment(config, width=1, seed=0)
        model = mobile_model(robot.twin)  # pyright: ignore[reportAttributeAccessIssue]
        own, traces = read_mobile_episodes(datasets, real, candidate, model, robot)
        return RobotCase(robot.robot, own, traces, job, simulate_mobile, tolerance=MOBILE_TOLERANCE)
    twin = twin_of(config)
    refuse_misfit(candidate, config, twin, config_name=config_name)
    cameras = camera_names(config.cameras, datasets)
    arm = Arm(twin)
    own, traces = read_episodes(datasets, real, candidate, arm, twin.robot.name, cameras=cameras)
    job = CounterfactualJob(text, folder, candidate.load, acting, episodes, seed, cameras, paired=True)
    return RobotCase(twin.robot.name, own, traces, limited(job), simulate_counterfactuals, arm.weight_n)
