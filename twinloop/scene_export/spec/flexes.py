"""Flexes (soft things) of a compiled model as elements of a spec.

A compiled flex has the stiffness matrices of its elements, but not the material they were computed from. Young's
modulus, Poisson's ratio and thickness are found by compiling trials and comparing the matrices: stiffness is
proportional to Young's modulus and, in a shell, to its thickness; bending is proportional to the cube of it.
"""

import mujoco
import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.scene_export.spec.names import Names

SAME = (
    "contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp", "margin", "gap", "dim",
    "radius", "flatskin", "selfcollide", "passive", "activelayers", "group", "edgestiffness", "edgedamping", "rgba",
    "damping",
)  # fmt: skip
HIGHEST_POISSON = 0.4999
TOLERANCE = 1e-6
"""Largest relative difference between the stiffness matrices of the model and of the recovered material."""

STRETCH, BEND = 2, 1  # bits of `elastic2d`


def add_flexes(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> list[str]:
    """Add all flexes. Returns the names of those whose material could not be recovered."""
    for index in range(model.nflex):
        _add_flex(spec, model, index, names)
    return [name for index, name in enumerate(names["flex"]) if not _fit_material(spec, model, index, name)]


def _add_flex(spec: mujoco.MjSpec, model: mujoco.MjModel, index: int, names: Names) -> None:
    flex = spec.add_flex(name=names["flex"][index])
    for field in SAME:
        value = getattr(model, f"flex_{field}")[index]
        setattr(flex, field, value.tolist() if isinstance(value, np.ndarray) else value.item())
    vertices = slice(model.flex_vertadr[index], model.flex_vertadr[index] + model.flex_vertnum[index])
    nodes = slice(model.flex_nodeadr[index], model.flex_nodeadr[index] + model.flex_nodenum[index])
    corners = (int(model.flex_dim[index]) + 1) * int(model.flex_elemnum[index])
    data = slice(model.flex_elemdataadr[index], model.flex_elemdataadr[index] + corners)
    bodies = names["body"]
    if model.flex_interp[index]:
        flex.order = int(model.flex_interp[index])
        flex.cellcount = model.flex_cellnum[index].tolist()
        flex.nodebody = [bodies[body] for body in model.flex_nodebodyid[nodes]]
        flex.node = model.flex_node[nodes].ravel() if model.flex_node[nodes].any() else []
        # The vertices of such a flex have no body: they are given in the world.
        flex.vertbody = int(model.flex_vertnum[index]) * [bodies[0]]
        flex.vert = model.flex_vert[vertices].ravel()
    else:
        flex.vertbody = [bodies[body] for body in model.flex_vertbodyid[vertices]]
        flex.vert = [] if model.flex_centered[index] else model.flex_vert[vertices].ravel()
    flex.elem = model.flex_elem[data]
    start = int(model.flex_texcoordadr[index])
    if start >= 0:
        later = [int(adr) for adr in model.flex_texcoordadr if adr > start]
        flex.texcoord = model.flex_texcoord[start : min(later, default=model.nflextexcoord)].ravel()
        flex.elemtexcoord = model.flex_elemtexcoord[data]
    flex.stressyield = model.flex_yield[index]
    material = int(model.flex_matid[model.flex_elemadr[index]]) if model.flex_matid.size else -1
    flex.material = [names["material"][material]] if material >= 0 else []


def _fit_material(spec: mujoco.MjSpec, model: mujoco.MjModel, index: int, name: str) -> bool:
    """Set the material of one flex. Returns False if no material gives the stiffness of the model."""
    stretching, bending = _stiffness(model, index)
    flex = spec.flex(name)
    if not stretching.any() and not bending.any():
        return True
    shell = int(model.flex_dim[index]) == 2
    flex.young, flex.thickness = 1.0, 1.0
    if shell:
        flex.elastic2d = STRETCH * bool(stretching.any()) + BEND * bool(bending.any())

    def matrices(poisson: float) -> tuple[np.ndarray, np.ndarray]:
        flex.poisson = poisson
        return _stiffness(spec.compile(), index)

    def residual(poisson: float) -> float:
        return max(_mismatch(*pair) for pair in zip((stretching, bending), matrices(poisson), strict=True))

    best = scipy.optimize.minimize_scalar(
        residual, bounds=(0, HIGHEST_POISSON), method="bounded", options={"xatol": 1e-10}
    )
    poisson = 0.0 if residual(0.0) <= float(best.fun) else float(best.x)  # pyright: ignore[reportAttributeAccessIssue]
    unit_stretching, unit_bending = matrices(poisson)
    stretch, bend = _ratio(stretching, unit_stretching), _ratio(bending, unit_bending)
    thickness = np.sqrt(bend / stretch) if stretch and bend else 2 * float(model.flex_radius[index])
    flex.thickness = thickness if shell else -1.0
    scale = thickness if shell else 1.0
    flex.young = stretch / scale if stretch else bend / scale**3
    return residual(poisson) <= TOLERANCE


def _stiffness(model: mujoco.MjModel, flex: int) -> tuple[np.ndarray, np.ndarray]:
    """Stretching and bending stiffness of one flex."""
    return (
        _part(model.flex_stiffness, model.flex_stiffnessadr, flex),
        _part(model.flex_bending, model.flex_bendingadr, flex),
    )


def _part(values: np.ndarray, addresses: np.ndarray, flex: int) -> np.ndarray:
    start = int(addresses[flex])
    if start < 0:
        return np.zeros(0)
    stop = min((int(address) for address in addresses if address > start), default=values.size)
    return np.ravel(values)[start:stop]


def _ratio(values: np.ndarray, units: np.ndarray) -> float:
    return float(values @ units / (units @ units)) if values.any() and units.any() else 0.0


def _mismatch(values: np.ndarray, trial: np.ndarray) -> float:
    """Relative distance between two arrays that may differ by a factor."""
    if values.shape != trial.shape:
        return 1.0
    if not values.any():
        return 0.0
    return float(np.linalg.norm(values - _ratio(values, trial) * trial) / np.linalg.norm(values))
