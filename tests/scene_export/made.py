"""A scene with one of everything that an export must carry: fixtures, loops, soft things, meshes, textures."""

import mujoco
import numpy as np

from twinloop.scene_export.snapshot import STATE, Snapshot

WORKSHOP = """
<mujoco model="workshop">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="3"/>
  <size memory="4M"/>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .2 0 0  0 .1 0  0 0 .1  .2 0 .1  0 .1 .1" inertia="exact"/>
    <mesh name="flag" vertex="0 0 0  .1 0 0  .1 .1 0  0 .1 0" face="0 1 2 0 2 3" inertia="shell"
          texcoord="0 0 1 0 1 1 0 1"/>
    <hfield name="hill" nrow="3" ncol="4" size=".2 .1 .05 .01" elevation="0 .1 .2 .3 .2 1 .5 .1 0 .3 .2 .1"/>
    <texture name="checks" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <texture name="sides" type="cube" builtin="gradient" rgb1="1 1 0" rgb2="0 .2 0" width="8" height="8"/>
    <material name="checked" texture="checks" specular=".3" shininess=".7" rgba="1 .9 .8 1"/>
    <material name="painted" texture="sides" reflectance=".1"/>
  </asset>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 .1" friction=".7 .005 .0001"/>
    <geom name="hill" type="hfield" hfield="hill" pos="2 2 0"/>
    <light name="lamp" type="spot" pos="0 0 3" dir=".1 0 -1" cutoff="30" diffuse=".6 .5 .4"/>
    <camera name="over" pos="0 -2 1.5" xyaxes="1 0 0 0 .6 .8" fovy="50" resolution="640 480"/>
    <body name="drawer" pos=".5 0 .3">
      <joint name="drawer" type="slide" axis="0 -1 0" range="0 .3" damping="2" frictionloss=".4"/>
      <geom name="drawer" type="box" size=".2 .2 .05" mass="1.2" material="painted"/>
    </body>
    <body name="arm/base" pos="-.4 .2 .1" quat=".96 0 0 .28">
      <geom type="cylinder" size=".06 .05" mass="2"/>
      <body name="arm/upper" pos="0 0 .1">
        <joint name="arm/shoulder" axis="0 0 1" pos=".01 .02 0" range="-2 2" armature=".05" ref=".3"/>
        <joint name="arm/lift" axis="0 1 0" pos="0 0 .03" range="-1.5 1.5" armature=".05"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".8" rgba=".2 .6 .3 1"/>
        <body name="arm/bracket" pos=".3 0 0">
          <geom type="ellipsoid" size=".03 .04 .05" mass="0"/>
          <camera name="hand" pos="0 0 .05" fovy="70" resolution="64 64"/>
          <body name="arm/wrist" pos=".02 0 0" gravcomp="1">
            <joint name="arm/wrist" type="ball" damping=".1" range="0 1"/>
            <geom name="wedge" type="mesh" mesh="wedge" pos="0 0 .02" quat=".9 .1 .3 .2" mass=".4"/>
            <geom type="mesh" mesh="flag" material="checked" contype="0" conaffinity="0" group="1" mass="0"/>
            <site name="tip" pos=".1 0 0"/>
            <body name="arm/left"><joint name="arm/left" type="slide" axis="0 1 0" range="0 .04"/>
              <geom type="box" size=".01 .005 .02" mass=".02"/></body>
            <body name="arm/right"><joint name="arm/right" type="slide" axis="0 -1 0" range="0 .04"/>
              <geom type="box" size=".01 .005 .02" mass=".02"/></body>
          </body>
        </body>
      </body>
    </body>
    <body name="crank" pos="0 1 .5">
      <joint name="crank" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 .2" size=".01" mass=".1"/>
      <body name="rod" pos="0 0 .2"><joint name="rod" axis="1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0 .3 0" size=".01" mass=".1"/></body>
    </body>
    <body name="ball" pos=".5 0 .6"><freejoint name="ball"/>
      <geom name="ball" type="sphere" size=".04" condim="6" friction=".9 .01 .001" mass=".2"/></body>
    <body name="hook" mocap="true" pos="0 0 1"><geom type="box" size=".02 .02 .02" contype="0" conaffinity="0"/></body>
    <flexcomp name="sponge" type="grid" dim="3" dof="trilinear" count="3 3 3" spacing=".04 .04 .04" radius=".001"
              mass=".2" pos="-1 0 .1" rgba=".9 .8 .1 1">
      <elasticity young="5e4" poisson=".2" damping=".01"/><contact selfcollide="none"/>
    </flexcomp>
  </worldbody>
  <contact>
    <exclude body1="arm/base" body2="arm/upper"/>
    <pair geom1="ball" geom2="drawer" friction="1 1 .01 .001 .001"/>
  </contact>
  <tendon>
    <fixed name="grip"><joint joint="arm/left" coef=".5"/><joint joint="arm/right" coef=".5"/></fixed>
    <spatial name="string" stiffness="3" springlength=".1"><site site="tip"/><site site="tip2"/></spatial>
  </tendon>
  <equality>
    <joint name="fingers" joint1="arm/left" joint2="arm/right" polycoef="0 1 0 0 0"/>
    <connect name="slider" body1="rod" body2="crank" anchor="0 .3 0"/>
    <weld name="held" body1="ball" body2="hook" active="false"/>
  </equality>
  <actuator>
    <position name="shoulder" joint="arm/shoulder" kp="80" kv="8" forcerange="-30 30"/>
    <position name="lift" joint="arm/lift" kp="120" kv="10" timeconst=".03"/>
    <position name="grip" tendon="grip" kp="400" kv="20" forcerange="-50 50" ctrlrange="0 .04"/>
    <velocity name="crank" joint="crank" kv="2" gear="3"/>
    <motor name="pull" joint="drawer" gear="2"/>
  </actuator>
  <sensor>
    <jointpos joint="arm/lift"/><force site="tip"/>
    <framepos objtype="body" objname="ball" reftype="site" refname="tip"/>
    <contact geom1="ball" data="found force" reduce="netforce"/><tendonpos tendon="grip"/>
  </sensor>
</mujoco>
""".replace('<body name="crank"', '<site name="tip2" pos="0 .5 .8"/><body name="crank"')


def workshop() -> Snapshot:
    """The workshop, a moment after its start, with commands."""
    model = mujoco.MjModel.from_xml_string(WORKSHOP)
    data = mujoco.MjData(model)
    data.ctrl[:] = [0.5, 0.4, 0.02, 0.3, 0.1]
    data.mocap_pos[0] = [0.1, 0.2, 1.1]
    mujoco.mj_step(model, data, 40)
    return Snapshot(model, {name: np.array(getattr(data, name)) for name in STATE}, origin={"name": "workshop"})
