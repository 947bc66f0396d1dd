"""Compile a user's model in a separate process first, with limited memory and time.

`mjcf_file` refuses the known ways to make a large model from a small file. This process catches the others, such as a
texture with a width of a million pixels or a mesh whose points coincide. A crash ends only this process.
"""

import base64
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from twinloop.errors import ModelError

MOST_MEMORY_BYTES = 4 << 30  # of address space; the engine and NumPy alone take 1 GiB
MOST_CPU_S = 20
LONGEST_S = 120


def try_out(
    path: Path, text: str = "", assets: Mapping[str, bytes] | None = None, *, missing: tuple[str, ...] = ()
) -> None:
    """Raise ModelError unless MuJoCo compiles the file within the limits.

    Args:
        text: compile this text of the model instead of the file's.
        assets: contents of meshes by the name that `text` gives them.
        missing: names of mesh and texture files that are left out.
    """
    encoded = {name: base64.b64encode(content).decode() for name, content in (assets or {}).items()}
    given = json.dumps({"text": text, "assets": encoded, "missing": missing})
    command = [sys.executable, "-m", "twinloop.twin.robot_files.trial", str(path.resolve())]
    # One thread only, because the stack and heap of each thread count towards the limit of address space.
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **one, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, errors="replace", env=environment, timeout=LONGEST_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ModelError(f"{path}: MuJoCo needs more than {LONGEST_S} s to compile it") from None
    if done.returncode:
        limits = f"{MOST_MEMORY_BYTES:,} bytes of memory and {MOST_CPU_S} s of computing are allowed"
        message = (done.stderr.strip().splitlines() or [""])[-1]
        why = message if done.returncode == 1 else f"the engine broke off ({message or done.returncode}); {limits}"
        raise ModelError(f"{path}: MuJoCo cannot compile it: {why}")


def main(path: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    import mujoco

    from twinloop.twin.robot_files.missing_assets import leave_out
    from twinloop.twin.robot_files.urdf_spec import spec_of

    given = json.load(sys.stdin)
    try:
        if given["text"]:
            assets = {name: base64.b64decode(content) for name, content in given["assets"].items()}
            spec = spec_of(given["text"], assets)
        else:
            spec = mujoco.MjSpec.from_file(path)
            leave_out(spec, tuple(given["missing"]))
        spec.compile()
    except (ValueError, mujoco.FatalError, MemoryError) as error:
        sys.exit(" ".join(str(error).split()) or "out of memory")


if __name__ == "__main__":
    main(sys.argv[1])
