"""The versions of the plugin packages that affect the data of a run."""

from twinloop.curate.checks import PLUGINS as PLUGIN_CHECKS
from twinloop.plugins import plugin_versions
from twinloop.run.config import RunConfig


def plugin_versions_of(config: RunConfig) -> dict[str, str]:
    """Package -> version, for the robot, the task and the rows of a config, and for every installed check.

    They are stored with a dataset like the versions of MuJoCo and NumPy. A run is not continued with other versions.
    """
    return plugin_versions(
        {
            "twinloop.robots": [config.scene.robot.name],
            "twinloop.tasks": [*config.by_task],
            "twinloop.parameters": config.randomization,
            "twinloop.checks": [check.name for check in PLUGIN_CHECKS],
        }
    )
