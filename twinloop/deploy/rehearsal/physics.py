"""CellPhysics: the interface of the physics engines of rehearsal cells.

States have the layout of the cell's MuJoCo model, so that the rest of a cell does not depend on the engine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twinloop.deploy.rehearsal.cell_build import CellBuild
from twinloop.errors import UsageError

STEP_S = 0.004
"""Time between two updates of the servo targets. An engine may divide it into smaller steps."""


@dataclass(frozen=True)
class PhysicsState:
    """The state of a cell.

    Attributes:
        qpos, qvel: as in MuJoCo. Angular velocities of things are left at 0.
        effort: of every motor.
    """

    qpos: np.ndarray
    qvel: np.ndarray
    effort: np.ndarray


class CellPhysics(Protocol):
    """The physics of one episode."""

    def step(
        self, targets: np.ndarray, rates: np.ndarray, torque_nm: np.ndarray, pushes: Mapping[int, np.ndarray]
    ) -> None:
        """Advance by STEP_S.

        Args:
            targets, rates: position and velocity that every motor's servo is to reach.
            torque_nm: torque on the arm's joints besides that of the motors.
            pushes: body of a thing -> force (N) at its origin.
        """
        ...

    def read(self) -> PhysicsState: ...

    def put(self, body: int, pose: np.ndarray) -> None:
        """Move a thing, a fixture or the table to a pose. Things are at rest afterwards."""
        ...

    def finger_force_n(self, bodies: frozenset[int]) -> np.ndarray:
        """Return the contact force of each finger of every arm on these bodies."""
        ...


def physics_class(engine: str) -> Callable[[CellBuild, np.ndarray], CellPhysics]:
    """Return the class of an engine. Raise UsageError if the engine is not installed."""
    if engine == "physx":
        try:
            from twinloop.deploy.rehearsal.physx_physics import PhysxPhysics
        except ImportError as error:
            raise UsageError(
                f"rehearsal:physx: needs SAPIEN ({error}); pip install 'twinloop[physx]', or leave out physx: to use "
                "Drake"
            ) from None
        return PhysxPhysics
    try:
        from twinloop.deploy.rehearsal.drake_physics import DrakePhysics
    except ImportError as error:
        raise UsageError(
            f"rehearsal: needs Drake ({error}); pip install --no-deps drake, or write rehearsal:physx: to use SAPIEN"
        ) from None
    return DrakePhysics


def physics_of(engine: str, build: CellBuild, qpos: np.ndarray) -> CellPhysics:
    """Return the physics of a cell that starts at the coordinates `qpos`."""
    return physics_class(engine)(build, qpos)
