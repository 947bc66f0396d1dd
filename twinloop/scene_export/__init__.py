"""A twin at the start of an episode -> a folder for other programs: MJCF, USD or URDF."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.scene_export.export import FORMATS as FORMATS
    from twinloop.scene_export.export import ExportedScene as ExportedScene
    from twinloop.scene_export.export import export_scene as export_scene
    from twinloop.scene_export.snapshot import Snapshot as Snapshot
    from twinloop.scene_export.snapshot import snapshot_of as snapshot_of

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "FORMATS": "export",
        "ExportedScene": "export",
        "export_scene": "export",
        "Snapshot": "snapshot",
        "snapshot_of": "snapshot",
    },
)
