"""Scene -> USD: a stage with UsdPhysics, for Isaac Sim, Omniverse and others. Needs the package `usd-core`."""

from twinloop.errors import UsageError
from twinloop.scene_export.files import SceneFiles
from twinloop.scene_export.scene import CompleteScene


def usd_files(scene: CompleteScene) -> SceneFiles:
    try:
        import pxr  # noqa: F401
    except ImportError:
        raise UsageError("--usd needs usd-core, which is not installed; run: pip install 'twinloop[usd]'") from None
    from twinloop.scene_export.usd.stage import build_stage

    return build_stage(scene)
