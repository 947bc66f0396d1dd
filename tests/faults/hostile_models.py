"""More than twenty hostile MJCF files, by kind of attack, each with the config that names it."""

import os
import struct
import zlib
from pathlib import Path

MAPPING = """
scene:
  robot:
    mjcf: arm.xml
    arm_joints: [j]
    gripper: {joints: [g], actuator: a, fingers: [left, right], open: 0.08, closed: 0}
    home: [0]
"""
ENTITIES = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
BODY = "<worldbody><body><geom size='.1'/></body></worldbody>"


def mujoco(inside: str) -> str:
    return f"<mujoco>{inside}</mujoco>"


def replicated(depth: int) -> str:
    inside = "<replicate count='100'>" * depth + "<geom size='.1'/>" + "</replicate>" * depth
    return mujoco(f"<worldbody>{inside}</worldbody>")


TEXTS = {
    "an entity bomb": f'<!DOCTYPE m [<!ENTITY e0 "ha">{ENTITIES}]><mujoco model="&e9;"/>',
    "an entity bomb in other letters": f'<!DOCTYPE m [<!ENTITY e0 "ha">{ENTITIES}]><mujoco model="&e9;"/>',
    "an entity that is a file": '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco model="&x;"/>',
    "a mesh by an absolute path": mujoco("<asset><mesh file='/etc/passwd'/></asset>"),
    "a mesh above": mujoco("<asset><mesh file='../canary'/></asset>"),
    "a folder of meshes above": mujoco("<compiler meshdir='..'/><asset><mesh file='canary'/></asset>"),
    "a folder of assets above": mujoco("<compiler assetdir='..'/><asset><texture type='2d' file='canary'/></asset>"),
    "a texture above": mujoco("<asset><texture type='cube' fileright='../canary'/></asset>"),
    "a height field above": mujoco("<asset><hfield name='h' file='../canary' size='1 1 1 1'/></asset>"),
    "an include above": mujoco("<include file='../canary'/>"),
    "a model above": mujoco("<asset><model name='m' file='../canary'/></asset>"),
    "an include of itself": mujoco("<include file='arm.xml'/>"),
    "a link that leads out": mujoco("<asset><mesh file='link.stl'/></asset>"),
    "a mesh of two gigabytes": mujoco("<asset><mesh file='large.stl'/></asset>" + BODY),
    "a mesh that is a pipe": mujoco("<asset><mesh file='pipe.stl'/></asset>" + BODY),
    "a million geoms": mujoco("<worldbody>" + "<geom/>" * 1_000_000 + "</worldbody>"),
    "a million geoms by repeats": replicated(3),
    "more geoms than atoms": replicated(40),
    "a composite of a milliard": mujoco(
        "<worldbody><composite type='cable' count='1000 1000 1000'><geom size='.1'/></composite></worldbody>"
    ),
    "a plugin": mujoco("<extension><plugin plugin='mujoco.elasticity.cable'/></extension>" + BODY),
    "a plugin in a body": mujoco("<worldbody><body><plugin plugin='canary'/><geom size='.1'/></body></worldbody>"),
    "a height field of a trillion": mujoco(
        "<asset><hfield name='h' nrow='1000000' ncol='1000000' size='1 1 1 1'/></asset>" + BODY
    ),
    "a texture of a trillion": mujoco(
        "<asset><texture name='t' type='2d' builtin='flat' width='1000000' height='1000000'/></asset>" + BODY
    ),
    "a picture that claims to be large": mujoco("<asset><texture name='t' type='2d' file='large.png'/></asset>" + BODY),
    "memory of a petabyte": mujoco("<size memory='1P'/>" + BODY),
    "a number of a milliard of numbers": mujoco("<custom><numeric name='n' size='1000000000'/></custom>" + BODY),
    "elements without end": mujoco("<worldbody>" + "<body>" * 40_000 + "</body>" * 40_000 + "</worldbody>"),
    "a mesh that claims a milliard of faces": mujoco("<asset><mesh name='m' file='claims.stl'/></asset>" + BODY),
}


def png(width: int, height: int) -> bytes:
    """An image of a few bytes whose header claims this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def models(folder: Path) -> dict[str, Path]:
    """The config of each. There must be a canary in the folder."""
    paths = {}
    for number, (name, text) in enumerate(TEXTS.items()):
        place = folder / f"model{number}"
        place.mkdir()
        (place / "arm.xml").write_text(text, encoding="utf-16" if "other letters" in name else "utf-8")
        paths[name] = place / "cell.yaml"
        paths[name].write_text(MAPPING)
        if "link.stl" in text:
            (place / "link.stl").symlink_to(folder / "canary")
        if "large.stl" in text:
            with (place / "large.stl").open("wb") as large:
                large.truncate(2 << 30)
        if "pipe.stl" in text:
            os.mkfifo(place / "pipe.stl")
        if "large.png" in text:
            (place / "large.png").write_bytes(png(60_000, 60_000))
        if "claims.stl" in text:
            (place / "claims.stl").write_bytes(bytes(80) + struct.pack("<I", 1_000_000_000) + bytes(1000))
    return paths
