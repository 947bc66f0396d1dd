"""The visual rows of the parameter table. They are drawn and stored with every episode; cameras read them."""

from twinloop.randomize.parameter import Parameter

VISUAL = (
    Parameter("texture_pool", "visual", "visual", "materials", "which of N procedural materials the episode shows",
              0.0, (200, 200), "engineering estimate; random textures as in Tobin et al., IROS 2017",
              (1, 10_000), pool=True),
    Parameter("lighting_intensity", "visual", "visual", "×", "brightness of the cell's lights",
              1.0, (0.3, 1.8), "150 to 900 lx, where EN 12464-1 asks for 500 lx at a desk", (0.0, 20.0)),
    Parameter("camera_jitter_deg", "visual", "visual", "°", "how each camera is turned off its nominal pose",
              0.0, (-5.0, 5.0), "engineering estimate: a mount put back by hand",
              (-45.0, 45.0), ("pitch", "yaw", "roll")),
)  # fmt: skip
