"""Rows that are fitted when cameras are calibrated to real frames: sharpness and colour saturation of images."""

from twinloop.randomize.imaging import sets
from twinloop.randomize.parameter import Parameter

OPTICS = (
    Parameter("defocus_px", "visual", "sensing", "px", "how far lens and colour filter spread a point: its deviation",
              0.0, (0.0, 1.2),
              "a Logitech C270 is out of focus at 300 mm (Horus documentation, 'Camera'); by how much is an estimate",
              (0.0, 8.0), only_with=("cameras",), on_image=sets("blur_px")),
    Parameter("colour_saturation", "visual", "visual", "×", "how far colours stand off grey in what is stored",
              1.0, (0.7, 1.2),
              "LeRobot's image transforms draw 0.5 to 1.5; a camera's own processing stays nearer to 1 (estimate)",
              (0.0, 4.0), only_with=("cameras",), on_image=sets("saturation")),
)  # fmt: skip
