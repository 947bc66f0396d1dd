"""Everything of a compiled model that refers to bodies: contacts, equalities, tendons, actuators, sensors, fields."""

import mujoco

from twinloop.scene_export.spec.names import Names

PAIR = ("solref", "solreffriction", "solimp", "margin", "gap", "adhesion", "friction")
IMPLIED = {
    mujoco.mjtEq.mjEQ_JOINT: mujoco.mjtObj.mjOBJ_JOINT,
    mujoco.mjtEq.mjEQ_TENDON: mujoco.mjtObj.mjOBJ_TENDON,
    mujoco.mjtEq.mjEQ_FLEX: mujoco.mjtObj.mjOBJ_FLEX,
    mujoco.mjtEq.mjEQ_FLEXVERT: mujoco.mjtObj.mjOBJ_FLEX,
    mujoco.mjtEq.mjEQ_FLEXSTRAIN: mujoco.mjtObj.mjOBJ_FLEX,
}
SENSOR_STATE = ("cutoff", "noise", "delay")


def add_contacts(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    for index in range(model.npair):
        geoms = names["geom"]
        pair = spec.add_pair(
            name=names["pair"][index], geomname1=geoms[model.pair_geom1[index]],
            geomname2=geoms[model.pair_geom2[index]], condim=int(model.pair_dim[index]),
        )  # fmt: skip
        for field in PAIR:
            setattr(pair, field, getattr(model, f"pair_{field}")[index].tolist())
    for index in range(model.nexclude):
        first, second = divmod(int(model.exclude_signature[index]), 1 << 16)
        spec.add_exclude(name=names["exclude"][index], bodyname1=names["body"][first], bodyname2=names["body"][second])


def add_equalities(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    for index in range(model.neq):
        kind, objtype = mujoco.mjtEq(int(model.eq_type[index])), int(model.eq_objtype[index])
        # The model leaves the type of the objects open where the type of the constraint implies it.
        referred = IMPLIED.get(kind, mujoco.mjtObj(objtype)).value
        spec.add_equality(
            name=names["equality"][index], type=kind.value, objtype=objtype, data=model.eq_data[index],
            active=bool(model.eq_active0[index]), solref=model.eq_solref[index], solimp=model.eq_solimp[index],
            name1=names.of_type(referred, int(model.eq_obj1id[index])),
            name2=names.of_type(referred, int(model.eq_obj2id[index])),
        )  # fmt: skip


def add_tendons(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    for index in range(model.ntendon):
        tendon = spec.add_tendon(
            name=names["tendon"][index], springlength=model.tendon_lengthspring[index],
            stiffness=[model.tendon_stiffness[index], *model.tendon_stiffnesspoly[index]],
            damping=[model.tendon_damping[index], *model.tendon_dampingpoly[index]],
            springyield=model.tendon_springyield[index], frictionloss=model.tendon_frictionloss[index],
            armature=model.tendon_armature[index], solref_limit=model.tendon_solref_lim[index],
            solimp_limit=model.tendon_solimp_lim[index], solref_friction=model.tendon_solref_fri[index],
            solimp_friction=model.tendon_solimp_fri[index], limited=int(model.tendon_limited[index]),
            range=model.tendon_range[index], actfrclimited=int(model.tendon_actfrclimited[index]),
            actfrcrange=model.tendon_actfrcrange[index], margin=model.tendon_margin[index],
            width=model.tendon_width[index], rgba=model.tendon_rgba[index], group=int(model.tendon_group[index]),
        )  # fmt: skip
        material = int(model.tendon_matid[index])
        tendon.material = names["material"][material] if material >= 0 else ""
        tendon.userdata = model.tendon_user[index] if model.nuser_tendon else []
        for wrap in range(model.tendon_adr[index], model.tendon_adr[index] + model.tendon_num[index]):
            _add_wrap(tendon, model, wrap, names)


def _add_wrap(tendon: mujoco.MjsTendon, model: mujoco.MjModel, wrap: int, names: Names) -> None:
    kind, number, value = int(model.wrap_type[wrap]), int(model.wrap_objid[wrap]), float(model.wrap_prm[wrap])
    if kind == mujoco.mjtWrap.mjWRAP_JOINT:
        tendon.wrap_joint(names["joint"][number], value)
    elif kind == mujoco.mjtWrap.mjWRAP_PULLEY:
        tendon.wrap_pulley(value)
    elif kind == mujoco.mjtWrap.mjWRAP_SITE:
        tendon.wrap_site(names["site"][number])
    else:
        tendon.wrap_geom(names["geom"][number], names["site"][round(value)] if value >= 0 else "")


def add_actuators(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    for index in range(model.nactuator):
        control, output = int(model.actuator_ctrladr[index]), int(model.actuator_outadr[index])
        actuator = spec.add_actuator(
            name=names["actuator"][index], gaintype=int(model.actuator_gaintype[index]),
            gainprm=model.actuator_gainprm[index], biastype=int(model.actuator_biastype[index]),
            biasprm=model.actuator_biasprm[index], dyntype=int(model.actuator_dyntype[index]),
            dynprm=model.actuator_dynprm[index], ctrlspec=int(model.actuator_ctrlspec[index]),
            actearly=bool(model.actuator_actearly[index]), gear=model.actuator_gear[output],
            cranklength=model.actuator_cranklength[index], lengthrange=model.actuator_lengthrange[output],
            damping=[model.actuator_damping[index], *model.actuator_dampingpoly[index]],
            armature=model.actuator_armature[index], ctrllimited=int(model.actuator_ctrllimited[control]),
            ctrlrange=model.actuator_ctrlrange[control], forcelimited=int(model.actuator_forcelimited[index]),
            forcerange=model.actuator_forcerange[index], actlimited=int(model.actuator_actlimited[index]),
            actrange=model.actuator_actrange[index], group=int(model.actuator_group[index]),
        )  # fmt: skip
        if model.actuator_delay[index] > 0:
            actuator.nsample, actuator.interp = (int(number) for number in model.actuator_history[index])
            actuator.delay = float(model.actuator_delay[index])
        if model.actuator_actnum[index] > 1:
            actuator.actdim = int(model.actuator_actnum[index])
        actuator.userdata = model.actuator_user[index] if model.nuser_actuator else []
        _set_transmission(actuator, model, index, names)


def _set_transmission(actuator: mujoco.MjsActuator, model: mujoco.MjModel, index: int, names: Names) -> None:
    kinds = mujoco.mjtTrn
    kind = kinds(int(model.actuator_trntype[index]))
    first, second = (int(number) for number in model.actuator_trnid[index])
    targets = {kinds.mjTRN_TENDON: "tendon", kinds.mjTRN_BODY: "body", kinds.mjTRN_SITE: "site"}
    actuator.trntype = kind.value
    if kind == kinds.mjTRN_SLIDERCRANK:
        actuator.target, actuator.slidersite = names["site"][first], names["site"][second]
        return
    actuator.target = names[targets.get(kind, "joint")][first]
    if kind == kinds.mjTRN_SITE and second >= 0:
        actuator.refsite = names["site"][second]


def add_sensors(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    for index in range(model.nsensor):
        objtype, reftype = int(model.sensor_objtype[index]), int(model.sensor_reftype[index])
        sensor = spec.add_sensor(
            name=names["sensor"][index], type=int(model.sensor_type[index]), objtype=objtype,
            objname=names.of_type(objtype, int(model.sensor_objid[index])), reftype=reftype,
            refname=names.of_type(reftype, int(model.sensor_refid[index])), intprm=model.sensor_intprm[index],
            datatype=int(model.sensor_datatype[index]), needstage=int(model.sensor_needstage[index]),
            dim=int(model.sensor_dim[index]), nsample=int(model.sensor_history[index, 0]),
            interp=int(model.sensor_history[index, 1]), interval=model.sensor_interval[index],
        )  # fmt: skip
        for field in SENSOR_STATE:
            setattr(sensor, field, float(getattr(model, f"sensor_{field}")[index]))
        sensor.userdata = model.sensor_user[index] if model.nuser_sensor else []


def add_fields(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    """Add custom numbers, texts and keyframes."""
    for index in range(model.nnumeric):
        start, size = int(model.numeric_adr[index]), int(model.numeric_size[index])
        spec.add_numeric(name=names["numeric"][index], size=size, data=model.numeric_data[start : start + size])
    for index in range(model.ntext):
        start, size = int(model.text_adr[index]), int(model.text_size[index])
        text = bytes(model.text_data[start : start + size - 1]).decode(errors="replace")
        spec.add_text(name=names["text"][index], data=text)
    for index in range(model.nkey):
        spec.add_key(
            name=names["key"][index], time=model.key_time[index], qpos=model.key_qpos[index],
            qvel=model.key_qvel[index], act=model.key_act[index], ctrl=model.key_ctrl[index],
            mpos=model.key_mpos[index].ravel(), mquat=model.key_mquat[index].ravel(),
        )  # fmt: skip
