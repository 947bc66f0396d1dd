"""The rows of light, camera, image and depth. They change pixels and never the physics.

Nominal means off: if every row is nominal, an image is the rendered one, bit for bit. Rows of the camera's sensor
belong to the gap "sensing", rows of the scene in front of it to "visual".
"""

import numpy as np

from twinloop.randomize.imaging import ImageSettings, sets, sets_each
from twinloop.randomize.parameter import Parameter


def _light_direction(settings: ImageSettings, direction_deg: np.ndarray) -> None:
    settings.lamp_turn_deg, settings.lamp_raise_deg = map(float, direction_deg)


def _exposure(settings: ImageSettings, steps: np.ndarray) -> None:
    settings.exposure = 2.0 ** float(steps)


def _white_balance(settings: ImageSettings, shift: np.ndarray) -> None:
    red, blue = map(float, shift)
    settings.balance = (1 + red, 1.0, 1 + blue)


APPEARANCE = (
    Parameter("light_count", "visual", "visual", "lights", "how many lights share the cell's brightness",
              2.0, (1, 4), "engineering estimate: one window to a row of lamps", (1, 4), only_with=("cameras",),
              on_image=sets("lamps")),
    Parameter("light_direction_deg", "visual", "visual", "°", "how the lights are turned and raised off their places",
              0.0, (-40.0, 40.0),
              "robosuite's domain randomization turns lights by 20° (0.35 rad); lamps of another room differ more "
              "(estimate)",
              (-180.0, 180.0), ("azimuth", "elevation"), only_with=("cameras",), on_image=_light_direction),
    Parameter("light_warmth", "visual", "visual", "1", "colour of the light: -1 overcast sky, 1 tungsten bulb",
              0.0, (-0.6, 0.8),
              "household tungsten bulbs have 2,500 to 3,500 K, an overcast sky 6,500 to 8,000 K (UCL Slade, 'The "
              "Kelvin Temperature Scale'); not quite to either end", (-1.0, 1.0),
              only_with=("cameras",), on_image=sets("warmth")),
    Parameter("light_softness", "visual", "visual", "1", "share of the light that comes from everywhere: faint shadows",
              0.0, (0.0, 0.8),
              "robogym's rearrange tasks vary the intensity of ambient light between 0.1 and 0.7 and of lamps "
              "likewise",
              (0.0, 1.0), only_with=("cameras",),
              on_image=sets("softness")),
    Parameter("camera_position_noise_cm", "visual", "visual", "cm", "how far each camera stands off its place",
              0.0, (-1.5, 1.5),
              "1 cm is the default of robosuite's domain randomization and of robogym's rearrange tasks; a tripod "
              "put back by hand is further off (estimate)",
              (-20.0, 20.0), ("x", "y", "z"),
              only_with=("cameras",), on_image=sets_each("camera_shift_m", 100)),
    Parameter("camera_fov_noise_deg", "visual", "visual", "°", "vertical field of view of each camera, against nominal",
              0.0, (-2.0, 2.0),
              "robosuite's domain randomization varies it by 5°, robogym's rearrange tasks by 10 %; lenses of one "
              "kind differ by less (estimate)",
              (-20.0, 20.0), only_with=("cameras",),
              on_image=sets("fov_shift_deg")),
    Parameter("exposure_ev", "visual", "visual", "EV", "exposure, in steps that double the light",
              0.0, (-1.0, 1.0),
              "Brooks et al., 'Unprocessing Images for Learned Raw Denoising', 2019: cameras brighten by 1/(0.8 ± "
              "0.1), 0.7 EV within two deviations; LeRobot's augmentation has 0.6 EV; an auto exposure wanders "
              "further (estimate)",
              (-5.0, 5.0),
              only_with=("cameras",), on_image=_exposure),
    Parameter("white_balance_shift", "visual", "visual", "1", "gain of the red and of the blue channel, less 1",
              0.0, (-0.12, 0.12),
              "Brooks et al., 'Unprocessing Images for Learned Raw Denoising', 2019: gains of red from 1.9 to 2.4 "
              "and of blue from 1.5 to 1.9 are ±12 % of their middle",
              (-0.8, 2.0), ("red", "blue"), only_with=("cameras",), on_image=_white_balance),
    Parameter("background_shade", "visual", "visual", "×", "brightness of floor and walls",
              1.0, (0.4, 1.3),
              "reflectance 0.26 of dark panelling to 0.85 of white walls (arbeitsschutz-schulungszentrum.de, glossary) "
              "over 0.65, the middle of the 0.5 to 0.8 that EN 12464-1 recommends", (0.0, 3.0), only_with=("cameras",),
              on_image=sets("room_shade")),
    Parameter("reflectance", "visual", "visual", "1", "how much the table mirrors",
              0.0, (0.0, 0.15), "polish mirrors 0.04 straight on (Fresnel, n = 1.5), more at a slant", (0.0, 0.9),
              only_with=("cameras",), on_image=sets("table_mirror")),
    Parameter("lens_distortion", "visual", "visual", "1", "share by which a corner of the image moves outwards",
              0.0, (-0.08, 0.04),
              "calibrations in PhotonVision's SimCameraProperties: -0.01 (LifeCam) to 0.01 (Limelight 2) at the "
              "corner; wider lenses more (estimate)",
              (-0.3, 0.3),
              only_with=("cameras",), on_image=sets("distortion")),
    Parameter("lens_flare", "visual", "visual", "1", "veil and ghosts of the brightest lamp, share of white",
              0.0, (0.0, 0.25), "engineering estimate: a lamp near the edge of the view", (0.0, 2.0),
              only_with=("cameras",), on_image=sets("flare")),
    Parameter("vignette", "visual", "visual", "1", "share of light lost in the corners",
              0.0, (0.0, 0.4), "cos⁴ law: a corner 28° off the axis loses 0.39", (0.0, 1.0), only_with=("cameras",),
              on_image=sets("corner_loss")),
    Parameter("shutter_ms", "visual", "sensing", "ms", "how long the shutter is open: motion blur",
              0.0, (2.0, 20.0),
              "libcamera's tuning of the IMX219 raises the gain from 10 ms on and reaches 30 ms at gain 4; 15.7 ms "
              "is the default of a UVC webcam (itaybre/CameraController, issue 69); 2 ms in bright light (estimate)",
              (0.0, 200.0),
              only_with=("cameras",), on_image=sets("open_s", 1000)),
    Parameter("rolling_shutter_ms", "visual", "sensing", "ms", "time from the first image row to the last",
              0.0, (5.0, 30.0),
              "14 to 32 ms of phones and action cameras at 30 to 60 frames/s (rolling-shutter-table.md of "
              "JzHuai0108/kalibr, tables 1 and 2); sensors of small pictures are faster (estimate)", (0.0, 200.0),
              only_with=("cameras",), on_image=sets("readout_s", 1000)),
    Parameter("shot_noise", "visual", "sensing", "1", "photon noise: its deviation at white, share of white",
              0.0, (0.0, 0.03),
              "libcamera's tuning of the IMX219: 3.67/256 = 0.014 of full scale at gain 1; it grows with the root "
              "of the gain, to 0.03 at gain 4",
              (0.0, 0.5),
              only_with=("cameras",), on_image=sets("shot_noise")),
    Parameter("read_noise", "visual", "sensing", "levels", "noise of the sensor in the dark, of 255 levels",
              0.0, (0.0, 4.0),
              "Brooks et al., 'Unprocessing Images for Learned Raw Denoising', 2019, fitted to the Darmstadt Noise "
              "Dataset: 0.02 levels at low gain to 3.7 at high gain",
              (0.0, 64.0),
              only_with=("cameras",), on_image=sets("read_levels")),
    Parameter("compression_quality", "visual", "sensing", "quality", "JPEG quality of the camera's stream; 100: none",
              100.0, (50.0, 95.0),
              "75 is what the OpenFlexure microscope server sets for MJPEG; less and more (estimate)", (5.0, 100.0),
              only_with=("cameras",), on_image=sets("jpeg_quality")),
    Parameter("depth_quantisation_mm", "visual", "sensing", "mm", "step of the depth at 1 m; grows with its square",
              0.0, (0.5, 3.0), "z²δ/fb of stereo: f 600 px, b 50 mm, δ of 1/64 to 1/11 px", (0.0, 100.0),
              only_with=("cameras",), on_image=sets("depth_step_mm")),
    Parameter("depth_edge_noise_px", "visual", "sensing", "px", "jitter of where depth is read, at 1 m: torn edges",
              0.0, (0.2, 1.0), "0.8 px of a Kinect (Nguyen et al., 3DIMPVT 2012), less and more", (0.0, 16.0),
              only_with=("cameras",), on_image=sets("depth_jitter_px")),
    Parameter("depth_hole_share", "visual", "sensing", "1", "share of pixels without depth, grazing and shiny first",
              0.0, (0.0, 0.08),
              "Intel RealSense D400 datasheet, invalid depth band: baseline / (2 × distance × tan(HFOV / 2)), which at "
              "0.5 m is 5 % of the image of a D435 and 9 % of a D415 (read second-hand; the band is at one edge)",
              (0.0, 0.9),
              only_with=("cameras",), on_image=sets("depth_holes")),
)  # fmt: skip
