"""Three rows of another package, one of actuation, one of sensing and one of images, and what follows from each.

`test_foreign_rows.py` installs this module as a package and runs it in a process of its own.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import twinloop as tl
from twinloop.randomize.hooks import Command, OnCommand, Readings
from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.uses import CellTruth


def _sag(command: Command, sag_mrad: np.ndarray) -> None:
    command.shift_mrad(-sag_mrad[:, None] * (1 + 0.1 * command.white("belt_sag")))


def _gain(readings: Readings, error: np.ndarray) -> None:
    readings.multiply(
        "position", 1 + error * readings.rng("encoder_gain").standard_normal(len(readings.twin.arm_joints))
    )


def _dust(settings: ImageSettings, share: np.ndarray) -> None:
    settings.on_light.append(lambda light, _frame, _rng: light * np.float32(1 - share))


BELT_SAG = tl.Parameter(
    name="belt_sag_mrad", group="actuation", gap="actuation", unit="mrad", touches="how far belts let joints sag",
    nominal=0.0, sensible=(0.0, 20.0), source="a test", plausible=(0.0, 100.0), on_command=OnCommand("joint", _sag),
    truth=CellTruth(30.0),
)  # fmt: skip
ENCODER_GAIN = tl.Parameter(
    name="encoder_gain_error", group="sensing", gap="sensing", unit="1", touches="gain error of every encoder",
    nominal=0.0, sensible=(0.0, 0.02), source="a test", plausible=(0.0, 0.5), on_reading=_gain,
)  # fmt: skip
LENS_DUST = tl.Parameter(
    name="lens_dust_share", group="visual", gap="visual", unit="1", touches="share of light that dust absorbs",
    nominal=0.0, sensible=(0.0, 0.5), source="a test", plausible=(0.0, 0.9), on_image=_dust, only_with=("cameras",),
)  # fmt: skip
ROWS = (BELT_SAG, ENCODER_GAIN, LENS_DUST)

SECTIONS = {
    "actuation": "belt_sag_mrad: [5, 20]",
    "sensing": "encoder_gain_error: [0.005, 0.02]",
    "visual": "lens_dust_share: [0.2, 0.5]",
}
CAMERA = "{front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.45, 0, 0], width: 64, height: 64, rate_hz: 5}}"


def facts(folder: Path) -> dict[str, list[str]]:
    """Fact -> the rows of which it is true."""
    from docs.reference_pages import parameters_page
    from twinloop.calibrate.apply_patch import patched
    from twinloop.calibrate.patch import TwinPatch
    from twinloop.config.record import read_record, write_record
    from twinloop.config.section import Section
    from twinloop.deploy.rehearsal.truth import TRUTHS
    from twinloop.diagnose.hypothesis import ends_of, rows_of
    from twinloop.diagnose.widening import automatic_domain_randomization
    from twinloop.run.config import config_from_text

    section = ", ".join(f"{group}: {{{rows}}}" for group, rows in SECTIONS.items())
    text = f"randomization: {{{section}}}\nexpert: {{action_noise_rad: 0}}\n"
    config = config_from_text(text, name="foreign.yaml", folder=folder)
    out = {"config": [row.name for row in ROWS if row.name in config.randomization], "refused": []}
    for row in ROWS:
        wrong = f"randomization: {{{row.group}: {{{row.name}: [0, 1000]}}}}"
        try:
            config_from_text(wrong, name="wrong.yaml", folder=folder)
        except tl.ConfigError:
            out["refused"].append(row.name)
    values = config.sampler().draw(0, 32).values
    out["sampling"] = [row.name for row in ROWS if np.ptp(values[row.name]) > 0]
    out["effect"] = _with_effect(folder)
    path = folder / "foreign.yaml"
    path.write_text(text)
    dataset = tl.generate(path, folder / "data", episodes=4)
    out["column"] = [
        row.name for row in ROWS if any(name.endswith(row.name) for name in dataset.attempts().column_names)
    ]
    page = parameters_page()
    out["docs"] = [row.name for row in ROWS if f"`{row.name}`" in page]
    wider = automatic_domain_randomization(config, lambda *_: 1.0, on_row=lambda *_: None).randomization
    out["adr"] = [name for name in out["config"] if wider[name].support()[1] > config.randomization[name].support()[1]]
    there = dict.fromkeys(("pictures", "wrist", "touch", "person", "soft"), True)
    out["counterfactual"] = [
        row.name for row in ROWS if row in rows_of(row.gap, **there) and ends_of(row)[1] > row.sensible[1]
    ]
    unseen = rows_of("visual", **there | {"pictures": False})
    out["not without cameras"] = [row.name for row in ROWS if row.gap == "visual" and row not in unseen]
    out["truth"] = [row.name for row in ROWS if row.name in {truth.name for truth in TRUTHS}]
    patch = TwinPatch(ranges={row.name: (0.0, row.sensible[1] / 2) for row in ROWS})
    read = read_record(TwinPatch, Section("patch.yaml", "", write_record(patch), {}))
    calibrated = patched(replace(config, randomization={}), read).randomization
    out["calibration"] = [name for name in calibrated if calibrated[name].support()[1] == read.ranges[name][1]]
    return out


def _with_effect(folder: Path) -> list[str]:
    """Rows that change the motion, the readings or the images of episodes, each and no other."""
    from twinloop.observe.image import sensed
    from twinloop.observe.renderer import Renderer
    from twinloop.observe.sensors import sense
    from twinloop.run.config import config_from_text
    from twinloop.run.twin import twin_of
    from twinloop.simulate.cell import Cell
    from twinloop.simulate.expert import Expert
    from twinloop.simulate.rollout import rollout

    def run(rows: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        text = f"randomization: {{{rows}}}\nexpert: {{action_noise_rad: 0}}\ncameras: {CAMERA}"
        config = config_from_text(text, name="effect.yaml", folder=folder)
        twin, draws = twin_of(config), config.sampler().draw(0, 2)
        (episodes,) = rollout(Cell(twin, width=2), iter([draws]), Expert(twin, config.expert, width=2, seed=0), seed=0)
        clip = Renderer(twin, config.cameras).film(episodes, 0, ticks=np.array([5]))["front"]
        drawn = {column: float(array[0]) for column, array in draws.values.items()}
        picture = sensed(clip, drawn, seed=0, attempt=0, name="front").rgb
        return episodes["position"], sense(episodes, twin, config.observe, seed=0)["position"], picture

    plain = run("")
    out = []
    for row, changed in zip(ROWS, (0, 1, 2), strict=True):
        episodes = run(f"{row.group}: {{{SECTIONS[row.group]}}}")
        same = [np.array_equal(*pair) for pair in zip(plain, episodes, strict=True)]
        # A changed motion changes readings and images too.
        if not same[changed] and all(same[:changed]):
            out.append(row.name)
    return out
