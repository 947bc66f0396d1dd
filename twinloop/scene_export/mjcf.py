"""Scene -> MJCF: one XML file and its assets, which MuJoCo loads without this package."""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mujoco
import numpy as np

from twinloop.scene_export.files import SceneFiles
from twinloop.scene_export.scene import START, CompleteScene

FILE = "scene.xml"
DIGITS = 17  # enough for every double
DEFAULT_DIGITS = 6
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?(?=[ \"])")
SINGLE = re.compile(r'(?:rgba|diffuse|specular|ambient|shininess|emission|reflectance|shadowclip)="[^"]*"')
"""Attributes that the engine stores in single precision."""


def mjcf_files(scene: CompleteScene) -> SceneFiles:
    notes = [
        f'start: the state is keyframe "{START}"; load it with mj_resetDataKeyframe (in the viewer: Load key)',
    ]
    with _all_digits() as exact:
        text = scene.spec.to_xml()
    if not exact:
        notes.append(f"numbers: this version of MuJoCo writes {DEFAULT_DIGITS} digits, so the state is not exact")
    text = SINGLE.sub(lambda match: NUMBER.sub(_single, match[0]), text)
    files = {FILE: NUMBER.sub(_shortest, text).encode(), **scene.spec.assets}
    return SceneFiles(FILE, files, tuple(notes))


def _shortest(match: re.Match[str]) -> str:
    """The shortest text of a number: 0.1 and not 0.10000000000000001."""
    number = match[0]
    return number if len(number) < DIGITS else repr(float(number)).removesuffix(".0")


def _single(match: re.Match[str]) -> str:
    return str(np.float32(match[0])).removesuffix(".0")


@contextmanager
def _all_digits() -> Iterator[bool]:
    """Let MuJoCo write numbers with all digits. Yields False if this version of it cannot."""
    # `MjSpec.to_xml` has no argument for this. The library's own tests use these two functions.
    library = ctypes.CDLL(str(next(Path(mujoco.__file__).parent.glob("libmujoco.*"))))
    try:
        read, write = library._mjPRIVATE__get_xml_precision, library._mjPRIVATE__set_xml_precision
    except AttributeError:
        yield False
        return
    before = read()
    write(DIGITS)
    try:
        yield True
    finally:
        write(before)
