"""Scene -> Twin: robot, object, task and sensors, compiled."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.twin.assemble import assemble as assemble
    from twinloop.twin.objects import OBJECTS as OBJECTS
    from twinloop.twin.objects import SceneObject as SceneObject
    from twinloop.twin.robot import Gripper as Gripper
    from twinloop.twin.robot import Robot as Robot
    from twinloop.twin.task import Phase as Phase
    from twinloop.twin.task import Task as Task
    from twinloop.twin.twin import Twin as Twin

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Twin": "twin",
        "assemble": "assemble",
        "Robot": "robot",
        "Gripper": "robot",
        "Task": "task",
        "Phase": "task",
        "SceneObject": "objects",
        "OBJECTS": "objects",
    },
)
