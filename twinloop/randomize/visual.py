"""The visual rows of the parameter table. They are drawn and stored with every episode."""

from twinloop.randomize.imaging import sets, sets_each
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import CellTruth, Condition

DIM, BRIGHT = 0.7, 1.4


def _brightness(intensity: float) -> str:
    return "dim" if intensity < DIM else "bright" if intensity > BRIGHT else ""


# The intensity of the light counts without cameras too, because labs record it as a condition of episodes.
VISUAL = (
    Parameter("texture_pool", "visual", "visual", "materials", "which of N procedural materials the episode shows",
              0.0, (200, 200), "engineering estimate; random textures as in Tobin et al., IROS 2017",
              (1, 10_000), pool=True, only_with=("cameras",), on_image=sets("material")),
    Parameter("lighting_intensity", "visual", "visual", "×", "brightness of the cell's lights",
              1.0, (0.3, 1.8), "150 to 900 lx, where EN 12464-1 asks for 500 lx at a desk", (0.0, 20.0),
              truth=CellTruth((0.2, 0.5), nominal=(0.9, 1.1)), worsens="tracker_loss_share",
              condition=Condition("light", _brightness), on_image=sets("brightness")),
    Parameter("camera_jitter_deg", "visual", "visual", "°", "how each camera is turned off its nominal pose",
              0.0, (-5.0, 5.0),
              "5° (0.087 rad) is the default of robosuite's domain randomization, 0.09 rad that of robogym's "
              "rearrange tasks",
              (-45.0, 45.0), ("pitch", "yaw", "roll"), only_with=("cameras",), on_image=sets_each("camera_turn_deg")),
)  # fmt: skip
