"""Layout: the views a recording opens with: the cell on the left, cameras in the middle, signals on the right."""

from collections.abc import Sequence

import rerun as rr
import rerun.blueprint as rrb

from twinloop.dashboard.rerun.signals import COMPARED, PHASE, SIGNALS, is_signal, signal_paths
from twinloop.dashboard.rerun.space import WORLD
from twinloop.dashboard.rerun.stored_episode import CLEAN, StoredEpisode
from twinloop.dashboard.rerun.views import CameraFeature, camera_features_of, camera_path
from twinloop.dashboard.rerun.words import EPISODE
from twinloop.observe.recording import Feature


def layout_of(episode: StoredEpisode) -> rrb.Blueprint:
    camera_features = camera_features_of(episode.features)
    # Depth and masks would cover the cell in the 3-D view; they have tabs of their own.
    hidden = [
        camera_feature.path
        for camera_feature in camera_features
        if camera_feature.feature.is_picture and camera_feature.kind != "rgb"
    ]
    cell = rrb.Vertical(
        rrb.Spatial3DView(
            name="cell", origin=WORLD, contents=["+ $origin/**", *(f"- /{path}/**" for path in hidden)],
            eye_controls=rrb.EyeControls3D(position=[1.5, -1.1, 1.0], look_target=[0.4, 0.0, 0.2], eye_up=[0, 0, 1]),
        ),
        rrb.StateTimelineView(name="phase", origin=PHASE),
        row_shares=[5, 1],
    )  # fmt: skip
    columns: list[rrb.Container] = [cell]
    if camera_features:
        cameras = dict.fromkeys(camera_feature.camera for camera_feature in camera_features)
        tabs = [
            _camera(name, [camera_feature for camera_feature in camera_features if camera_feature.camera == name])
            for name in cameras
        ]
        columns.append(rrb.Vertical(contents=tabs, name="cameras"))
    columns.append(rrb.Tabs(*_plots(episode), rrb.TextDocumentView(name="episode", origin=EPISODE), name="signals"))
    return rrb.Blueprint(
        rrb.Horizontal(contents=columns, column_shares=[4, 2, 4] if camera_features else [5, 4]),
        rrb.TimePanel(timeline="time", state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        rrb.SelectionPanel(state="collapsed"),
        auto_views=False,
    )


def _camera(name: str, camera_features: list[CameraFeature]) -> rrb.Tabs:
    """The image with its labels, then depth and masks."""
    lens = f"{camera_path(name)}/lens"
    layers = [
        camera_feature
        for camera_feature in camera_features
        if camera_feature.feature.is_picture and camera_feature.kind != "rgb"
    ]
    over = rrb.Spatial2DView(
        name=name, origin=lens, contents=["+ $origin/**", *(f"- /{layer.path}/**" for layer in layers)]
    )
    alone = [
        rrb.Spatial2DView(name=f"{name} {layer.kind}", origin=lens, contents=[f"+ /{layer.path}/**"])
        for layer in layers
    ]
    return rrb.Tabs(over, *alone, name=name)


def _plots(episode: StoredEpisode) -> Sequence[rrb.Container | rrb.View]:
    features = {feature.name: feature for feature in episode.features if is_signal(feature)}
    compared = [features[name] for name in COMPARED if name in features]
    tracking = rrb.Grid(contents=_joints(compared), name="command and motion")
    others = [name for name in features if name not in COMPARED]
    groups = {
        "sensors": [name for name in others if name.startswith("observation.")],
        "outcome": [name for name in others if not name.startswith(("observation.", CLEAN))],
        "clean": [name for name in others if name.startswith(CLEAN)],
    }
    return [tracking] + [
        rrb.Vertical(contents=[_feature(features[name]) for name in names], name=title)
        for title, names in groups.items()
        if names
    ]


def _joints(compared: list[Feature]) -> Sequence[rrb.View]:
    """One plot per joint, with every feature that has this joint."""
    lines: dict[str, list[str]] = {}
    for feature in compared:
        for name, path in zip(feature.names, signal_paths(feature), strict=True):
            lines.setdefault(name, []).append(f"+ /{path}")
    return [
        # One legend is enough: the colours are the same in all plots, and a legend covers the lines.
        rrb.TimeSeriesView(name=name, origin=SIGNALS, contents=paths, plot_legend=rrb.PlotLegend(visible=place == 0))
        for place, (name, paths) in enumerate(lines.items())
    ]


def _feature(feature: Feature) -> rrb.View:
    unit = f" ({feature.unit})" if feature.unit else ""
    origin = f"{SIGNALS}/{rr.escape_entity_path_part(feature.name)}"
    return rrb.TimeSeriesView(name=feature.name + unit, origin=origin)
