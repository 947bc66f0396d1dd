"""Names of a model's elements. Elements without a name get one, because references in a file go by name."""

import mujoco

KINDS = {
    "body": (mujoco.mjtObj.mjOBJ_BODY, "nbody"),
    "joint": (mujoco.mjtObj.mjOBJ_JOINT, "njnt"),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, "ngeom"),
    "site": (mujoco.mjtObj.mjOBJ_SITE, "nsite"),
    "camera": (mujoco.mjtObj.mjOBJ_CAMERA, "ncam"),
    "light": (mujoco.mjtObj.mjOBJ_LIGHT, "nlight"),
    "flex": (mujoco.mjtObj.mjOBJ_FLEX, "nflex"),
    "mesh": (mujoco.mjtObj.mjOBJ_MESH, "nmesh"),
    "skin": (mujoco.mjtObj.mjOBJ_SKIN, "nskin"),
    "hfield": (mujoco.mjtObj.mjOBJ_HFIELD, "nhfield"),
    "texture": (mujoco.mjtObj.mjOBJ_TEXTURE, "ntex"),
    "material": (mujoco.mjtObj.mjOBJ_MATERIAL, "nmat"),
    "pair": (mujoco.mjtObj.mjOBJ_PAIR, "npair"),
    "exclude": (mujoco.mjtObj.mjOBJ_EXCLUDE, "nexclude"),
    "equality": (mujoco.mjtObj.mjOBJ_EQUALITY, "neq"),
    "tendon": (mujoco.mjtObj.mjOBJ_TENDON, "ntendon"),
    "actuator": (mujoco.mjtObj.mjOBJ_ACTUATOR, "nactuator"),
    "sensor": (mujoco.mjtObj.mjOBJ_SENSOR, "nsensor"),
    "numeric": (mujoco.mjtObj.mjOBJ_NUMERIC, "nnumeric"),
    "text": (mujoco.mjtObj.mjOBJ_TEXT, "ntext"),
    "tuple": (mujoco.mjtObj.mjOBJ_TUPLE, "ntuple"),
    "key": (mujoco.mjtObj.mjOBJ_KEY, "nkey"),
}
"""Kind -> the engine's type and the field of the model that counts its elements."""


class Names:
    """Unique names of all elements of a model, by kind."""

    def __init__(self, model: mujoco.MjModel):
        self._by_kind = {kind: _unique(model, kind) for kind in KINDS}

    def __getitem__(self, kind: str) -> list[str]:
        return self._by_kind[kind]

    def of_type(self, objtype: int, number: int) -> str:
        """Name of an element that the model refers to by type and id; "" if it refers to none."""
        if number < 0:
            return ""
        if objtype == mujoco.mjtObj.mjOBJ_XBODY:
            return self["body"][number]
        for kind, (known, _) in KINDS.items():
            if known == objtype:
                return self[kind][number]
        return ""


def _unique(model: mujoco.MjModel, kind: str) -> list[str]:
    objtype, counter = KINDS[kind]
    names = [mujoco.mj_id2name(model, objtype, index) or "" for index in range(getattr(model, counter))]
    taken = set(names)
    for index, name in enumerate(names):
        number = index
        while not name:
            candidate = f"{kind}{number}"
            name, number = ("", number + len(names)) if candidate in taken else (candidate, number)
        names[index] = name
        taken.add(name)
    return names
