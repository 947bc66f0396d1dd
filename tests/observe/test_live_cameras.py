"""Live images equal recorded ones, as far as they do not depend on later states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.learn.neighbours import space_of
from twinloop.learn.actor import IMAGE_BATCH, PolicyActor
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.space import Space
from twinloop.observe.camera import CameraConfig, default_cameras
from twinloop.observe.live_cameras import LiveCameras
from twinloop.observe.live_sensors import LiveSensors
from twinloop.observe.pictures import picture_features, pictures_of
from twinloop.observe.renderer import Renderer
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

LOOKS = {
    "object_position_noise_cm": Uniform(-3, 3), "lighting_intensity": Uniform(0.5, 1.5), "vignette": Uniform(0, 0.4),
    "lens_distortion": Uniform(-0.1, 0.1), "texture_pool": Uniform(0, 3), "camera_jitter_deg": Uniform(-3, 3),
}  # fmt: skip
EXECUTED = 7


@dataclass(frozen=True)
class Painter:
    """Moves a joint to and fro, and keeps every picture it is shown."""

    space: Space
    horizon: int = EXECUTED
    executed: int = EXECUTED
    shown: list[dict[str, np.ndarray]] = field(default_factory=list)

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        assert not real
        assert len(instructions) == len(noise) == IMAGE_BATCH
        self.shown.append({name: values.copy() for name, values in observation.items()})
        way = 0.3 * np.sin(len(self.shown))
        return np.broadcast_to(np.array([way, -0.3, 0, -2.2, 0, 2, 0.8, 0.04]), (IMAGE_BATCH, EXECUTED, 8)).copy()


@pytest.fixture(scope="module")
def cameras() -> dict[str, CameraConfig]:
    pair = default_cameras(rate_hz=25, width=48, height=40)
    masked = replace(pair["wrist"], labels=("instances", "classes"))
    return {"front": replace(pair["front"], rate_hz=5, depth=True), "wrist": masked}


def watched(twin: Twin, cameras: dict[str, CameraConfig], ranges: dict, count: int) -> tuple[Episodes, Painter]:
    runtime = Painter(replace(space_of(twin), inputs=(*space_of(twin).inputs, *picture_features(cameras, twin))))
    names = tuple(feature.name for feature in runtime.space.pictures)
    short = replace(twin, task=replace(twin.task, longest_s=1.2))
    eyes = LiveCameras(short, cameras, names, width=count, seed=4)
    watch = LiveSensors(short, ObserveConfig(), width=count, seed=4)
    actor = PolicyActor(short, runtime, watch, ActingConfig(), width=count, seed=4, eyes=eyes)
    draws = Sampler(ranges, seed=4).draw(0, count)
    (episodes,) = rollout(Cell(short, width=count), iter([draws]), actor, seed=4)
    return episodes, runtime


@pytest.mark.usefixtures("renderer")
def test_pictures_are_those_of_the_recording(twin: Twin, cameras: dict[str, CameraConfig]):
    count = IMAGE_BATCH + 1  # two inferences per moment
    episodes, runtime = watched(twin, cameras, LOOKS, count)
    films = list(pictures_of(episodes, Renderer(twin, cameras), seed=4)(np.arange(count)))
    assert len(runtime.shown) == 2 * 5
    for number, shown in enumerate(runtime.shown):
        moment, second = divmod(number, 2)
        for row, film in enumerate(films[IMAGE_BATCH:] if second else films[:IMAGE_BATCH]):
            for name, frames in film.items():
                np.testing.assert_array_equal(shown[name][row], frames[moment * EXECUTED], err_msg=f"{name} {moment}")


@pytest.mark.usefixtures("renderer")
def test_noise_differs_from_image_to_image(twin: Twin, cameras: dict[str, CameraConfig]):
    noisy = {"read_noise": Uniform(4.0, 4.01)}
    wrist = {"wrist": cameras["wrist"]}
    episodes, runtime = watched(twin, wrist, noisy, 1)
    calm = replace(episodes, draws=Sampler({}, seed=4).draw(0, 1))
    (truth,) = pictures_of(calm, Renderer(twin, wrist), seed=4)(np.arange(1))
    name = "observation.images.wrist"
    off = [shown[name][0] - truth[name][EXECUTED * moment].astype(float) for moment, shown in enumerate(runtime.shown)]
    assert 2 < np.std(off[0]) < 6
    assert abs(np.corrcoef(off[0].ravel(), off[1].ravel())[0, 1]) < 0.1
