"""Checkpoint -> Runlog: runs a policy on a robot (hardware, a rehearsal cell or the twin)."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.deploy.episode_log import EpisodeLog as EpisodeLog
    from twinloop.deploy.episode_runner import DeployConfig as DeployConfig
    from twinloop.deploy.episode_runner import EpisodeRunner as EpisodeRunner
    from twinloop.deploy.estop import EStop as EStop
    from twinloop.deploy.robot import Description as Description
    from twinloop.deploy.robot import LiveRobot as LiveRobot
    from twinloop.deploy.robot import Outcome as Outcome
    from twinloop.deploy.robot import Reading as Reading
    from twinloop.deploy.runlog import Runlog as Runlog

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Runlog": "runlog",
        "LiveRobot": "robot",
        "Description": "robot",
        "Reading": "robot",
        "Outcome": "robot",
        "EpisodeLog": "episode_log",
        "EpisodeRunner": "episode_runner",
        "DeployConfig": "episode_runner",
        "EStop": "estop",
    },
)
