"""Thirty hostile configs, by kind of attack."""

import os
from pathlib import Path

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20)
)
ROBOT = (
    "scene: {{robot: {{mjcf: {path}, arm_joints: [j], gripper: {{joints: [j], actuator: a, fingers: [a, b]}}, "
    "home: [0]}}}}\n"
)
TEXTS = {
    "an alias bomb": BOMB,
    "one alias": "scene: &s {robot: franka_panda}\nrollout: *s\n",
    "a tag that calls": "scene: !!python/object/apply:os.system ['touch canary']\n",
    "a tag that makes": "scene: !!python/object/new:subprocess.Popen [['touch', 'canary']]\n",
    "a tag that imports": "scene: !!python/module:canary\n",
    "a binary tag": "scene: !!binary aGVsbG8=\n",
    "lists without end": "a: " + "[" * 100_000,
    "mappings without end": "a: " + "{a: " * 50_000,
    "keys without end": "? " * 100_000,
    "dashes without end": "- " * 100_000,
    "a hundred thousand values": "x: [" + "1," * 100_000 + "1]\n",
    "documents without end": "---\n" * 60_000,
    "a number of minutes without end": "rollout: {seed: 1" + ":59" * 60_000 + "}\n",
    "a number of digits without end": "rollout: {seed: " + "9" * 200_000 + "}\n",
    "a hexadecimal without end": "rollout: {seed: 0x" + "f" * 200_000 + "}\n",
    "a word without end": "scene: {robot: " + "x" * 200_000 + "}\n",
    "a number that is none": "rollout: {seed: ²e5}\n",
    "an infinity by overflow": "expert: {action_noise_rad: 1e999999}\n",
    "a zero byte in a path": ROBOT.format(path='"arm\\0.xml"'),
    "half a character": 'scene: {robot: "\\ud800"}\n',
    "a merge key": "<<: {scene: {robot: franka_panda}}\nx: 1\n",
    "a milliard of simulations": "rollout: {parallel_envs: 1000000000}\n",
    "cameras of a milliard of pixels": (
        "cameras: {c: {position_m: [1, 0, 1], look_at_m: [0, 0, 0], width: 32768, height: 32768}}\n"
    ),
    "a model without an end": ROBOT.format(path="/dev/zero"),
    "a model that is a folder": ROBOT.format(path="."),
    "a model by a very long name": ROBOT.format(path="a/" * 1500 + "b.xml"),
}


def configs(folder: Path) -> dict[str, Path]:
    paths = {}
    for number, (name, text) in enumerate(TEXTS.items()):
        paths[name] = folder / f"config{number}.yaml"
        paths[name].write_text(text)
    paths["a file of eight gigabytes"] = folder / "large.yaml"
    with paths["a file of eight gigabytes"].open("wb") as large:
        large.truncate(8 << 30)
    paths["a file without an end"] = Path("/dev/zero")
    paths["a pipe that nobody writes to"] = folder / "pipe.yaml"
    os.mkfifo(paths["a pipe that nobody writes to"])
    paths["a link to itself"] = folder / "circle.yaml"
    paths["a link to itself"].symlink_to("circle.yaml")
    return paths
