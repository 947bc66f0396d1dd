"""Plane geometry of rooms: lidar and physics see the same surfaces."""

import mujoco
import numpy as np

from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.diff_drive import DIFF_DRIVE
from twinloop.twin.wheels.floor_plan import PERSON_RADIUS_M, box_distance_m, cast_rays
from twinloop.twin.wheels.wheel_twin import assemble_wheels

BUSY = {"furniture_count": Uniform(3.0, 8.99), "people_count": Constant(3.0), "room_size_m": Uniform(5.0, 8.0)}


def test_rays_end_where_those_of_the_physics_engine_end():
    twin, n = assemble_wheels(DIFF_DRIVE, rays=36, range_m=12.0), 4
    cell, ids = WheelCell(twin, width=n), np.arange(n)
    cell.admit(ids, Sampler(BUSY, seed=3).draw(0, n), ids, seed=3)
    angles = cell.yaw_rad[:, None] + twin.ray_angles_rad
    ours = cast_rays(cell.position_m, angles, cell.boxes, cell.people.position_m, PERSON_RADIUS_M, 12.0)
    obstacles = np.array([0, 0, 0, 0, 0, 0], np.uint8)
    for slot in range(n):
        model = cell.model_of(slot)
        # Obstacles only: the robot's own geoms are in another group.
        obstacles_of = np.isin(np.arange(model.ngeom), twin.box_geoms) | (model.geom_contype == 2)
        model.geom_group[:] = np.where(obstacles_of, 0, 1)
        obstacles[0] = 1
        data = mujoco.MjData(model)
        data.mocap_pos[:], data.mocap_quat[:] = (cell.engine.bind(name)[slot] for name in ("mocap_pos", "mocap_quat"))
        mujoco.mj_kinematics(model, data)
        origin = np.array([*cell.position_m[slot], twin.robot.lidar.height_m])
        for ray, angle in enumerate(angles[slot]):
            direction, geom = np.array([np.cos(angle), np.sin(angle), 0.0]), np.zeros(1, np.int32)
            theirs = mujoco.mj_ray(model, data, origin, direction, obstacles, 1, -1, geom)
            np.testing.assert_allclose(ours[slot, ray], theirs, atol=1e-6)


def test_a_distance_is_negative_inside_a_box():
    box = np.array([[1.0, 0.0, 1.0, 0.5, np.pi / 2]])  # turned by a quarter: 1 m wide, 2 m long in y
    points = np.array([[1.0, 0.0], [1.0, 0.9], [1.7, 0.0], [1.0, 1.3], [1.8, 1.4]])
    np.testing.assert_allclose(box_distance_m(points, box)[:, 0], [-0.5, -0.1, 0.2, 0.3, 0.5], atol=1e-9)
