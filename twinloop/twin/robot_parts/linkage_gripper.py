"""Two-finger linkage grippers with parallel jaws and one motor.

Each finger hangs on a driver link and is kept parallel by a second link, so it moves on a circle without turning. The
parallelogram is modelled by its constraint: the angle of the finger in the driver is minus the driver's angle. The two
drivers are coupled, and one actuator acts on their mean. The encompassing grip, in which a finger tilts around a part,
is not modelled.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.robot import Gripper
from twinloop.twin.robot_parts.links import COLLIDES, SHOWN, Capsule, add_capsule

TENDON = "linkage"
STIFFNESS_NM_RAD = 100.0
DRIVER_INERTIA_KGM2, FINGER_INERTIA_KGM2 = 0.02, 0.002
DARK = (0.13, 0.13, 0.14, 1.0)
# The linkage is rigid, so these constraints are stiffer than the engine's default.
RIGID = {"solref": [0.01, 1], "solimp": [0.98, 0.999, 0.001, 0.5, 2]}


@dataclass(frozen=True)
class LinkageGripper:
    """Dimensions and figures of a gripper. Fingers move along y, z points out of the hand.

    Attributes:
        pivot_m: (y, z) of the driver's axis in the hand's frame.
        driver_m: (y, z) from the driver's axis to the finger's axis when open.
        pad_m: (y, z) of the centre of the pad's inner face in the finger's frame.
        pad_size_m: (x, y, z) edge lengths of the pad.
        stroke_rad: angle of the driver between open and closed.
        tool_m: distance of the tool frame from the hand's origin, along z.
        force_n: force of one finger.
        speed_m_s: speed of one finger at no load.
    """

    pivot_m: tuple[float, float]
    driver_m: tuple[float, float]
    pad_m: tuple[float, float]
    pad_size_m: tuple[float, float, float]
    stroke_rad: float
    tool_m: float
    force_n: float
    speed_m_s: float
    driver_mass_kg: float
    finger_mass_kg: float

    @property
    def record(self) -> Gripper:
        return Gripper(
            joints=("left_driver", "right_driver"),
            actuator="gripper",
            finger_bodies=("left_finger", "right_finger"),
            open=2 * self.stroke_rad,
            closed=0.0,
            open_control=self.stroke_rad,
            closed_control=0.0,
            unit="rad",
        )

    @property
    def lever_m(self) -> float:
        """Mean distance along z between the two axes of a driver: a finger's speed over the driver's."""
        angles = np.linspace(0, self.stroke_rad, 20)
        y, z = self.driver_m
        return float(np.mean(y * np.sin(angles) + z * np.cos(angles)))

    def add_to(self, spec: mujoco.MjSpec, hand: mujoco.MjsBody) -> None:
        """Add fingers, tool frame and actuator to the hand. The model's reference position is the open gripper."""
        hand.add_site(name="tool", pos=[0, 0, self.tool_m], size=[0.005, 0.005, 0.005])
        torque_nm = self.force_n * self.lever_m
        damping = torque_nm / (self.speed_m_s / self.lever_m)
        for side, sign in (("left", 1), ("right", -1)):
            self._add_finger(spec, hand, side, sign, damping)
        self._couple(spec, "right_driver", "left_driver", 1)
        mean = spec.add_tendon(name=TENDON)
        mean.wrap_joint("left_driver", 0.5)
        mean.wrap_joint("right_driver", 0.5)
        motor = spec.add_actuator(name="gripper", target=TENDON, trntype=mujoco.mjtTrn.mjTRN_TENDON)
        motor.set_to_position(kp=STIFFNESS_NM_RAD)
        # The tendon's torque is shared by the two drivers.
        motor.ctrlrange, motor.forcerange = (0, self.stroke_rad), (-2 * torque_nm, 2 * torque_nm)

    def _add_finger(self, spec: mujoco.MjSpec, hand: mujoco.MjsBody, side: str, sign: int, damping: float) -> None:
        def mirrored(y_z: tuple[float, float]) -> list[float]:
            return [0, sign * y_z[0], y_z[1]]

        # Angles count from closed; opening turns the left finger about -x.
        driver = hand.add_body(name=f"{side}_driver", pos=mirrored(self.pivot_m), gravcomp=1)
        length = float(np.hypot(*self.driver_m))
        _set_mass(driver, self.driver_mass_kg, np.array(mirrored(self.driver_m)) / 2, length)
        driver.add_joint(
            name=f"{side}_driver", axis=[-sign, 0, 0], range=[0, self.stroke_rad], ref=self.stroke_rad,
            armature=DRIVER_INERTIA_KGM2, damping=damping,
        )  # fmt: skip
        end = tuple(mirrored(self.driver_m))
        add_capsule(driver, Capsule(0.007, (0, 0, 0), (end[0], end[1], end[2]), DARK))
        finger = driver.add_body(name=f"{side}_finger", pos=mirrored(self.driver_m), gravcomp=1)
        y, z = self.pad_m
        _set_mass(finger, self.finger_mass_kg, np.array([0, sign * y / 2, z / 2]), 2 * z)
        finger.add_joint(
            name=f"{side}_finger", axis=[sign, 0, 0], ref=self.stroke_rad, armature=FINGER_INERTIA_KGM2, damping=0.01,
        )  # fmt: skip
        self._couple(spec, f"{side}_finger", f"{side}_driver", 1)
        width, depth, height = self.pad_size_m
        add_capsule(finger, Capsule(0.007, (0, 0, 0), (0, sign * (y + depth), z - height / 3), DARK))
        finger.add_geom(
            name=f"{side}_pad", type=mujoco.mjtGeom.mjGEOM_BOX, size=[width / 2, depth / 2, height / 2],
            pos=[0, sign * (y + depth / 2), z], rgba=DARK, mass=0, **COLLIDES,
        )  # fmt: skip
        finger.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[width / 3, 0.004, height / 2],
            pos=[0, sign * (y + depth + 0.004), z], rgba=(0.35, 0.36, 0.38, 1.0), mass=0, **SHOWN,
        )  # fmt: skip

    def _couple(self, spec: mujoco.MjSpec, follower: str, leader: str, ratio: float) -> None:
        coupling = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1=follower, name2=leader, **RIGID
        )
        coupling.data[:5] = [0, ratio, 0, 0, 0]


def _set_mass(body: mujoco.MjsBody, mass_kg: float, com_m: np.ndarray, length_m: float) -> None:
    """Mass and inertia of a rod of this length."""
    body.explicitinertial = True
    inertia = max(mass_kg * length_m**2 / 12, 1e-6)
    body.mass, body.ipos, body.inertia = mass_kg, com_m, (inertia, inertia, inertia)
