"""Configs: the published example is parsed, defaults are filled in, and bad input is refused by name."""

from pathlib import Path

import pytest

from twinloop.errors import UsageError
from twinloop.randomize.distribution import Choice, Constant, Normal, Uniform
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig, config_from_text, inapplicable_rows, load_config
from twinloop.run.default import embedded_config
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "pick_and_place.yaml"


def read(text: str) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=Path())


def test_the_published_config_is_parsed_correctly():
    config = load_config(EXAMPLE)
    assert config.scene.robot.name == "franka_panda"
    assert config.scene.task.name == "pick_and_place"
    assert config.rollout.parallel_envs == 4096
    assert config.rollout.episodes == 4096 * 50
    assert config.randomization["friction_coefficient"] == Uniform(0.2, 1.1)
    pool = config.randomization["texture_pool"]
    assert isinstance(pool, Choice)
    assert len(pool.values) == 200


def test_the_embedded_config_is_the_example():
    assert embedded_config().resolved() == load_config(EXAMPLE).resolved()


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE.read_text(),
        "scene: {object: can}",
        "randomization: {physics: {friction_coefficient: {normal: {mean: [0.5, 0.6], std: 0.05}}}}",
        "randomization: {physics: {object_mass_kg: {choice: [0.1, 0.2]}, object_yaw_deg: {truncated: [0, 9, -9, 9]}}}",
        "randomization: {physics: {object_mass_kg: {log_uniform: [0.05, 0.4]}, table_height_cm: 0.5}}",
        "curate: {require_success: false, penetration_mm: 3}",
        "randomization: {human: {bystander_probability: 0.25}, environment: {unexpected_item_probability: 0}}",
        "randomization: realistic",
        "expert: {yields_to_people: true}",
        (ROOT / "examples" / "handover.yaml").read_text(),
    ],
)
def test_a_resolved_config_reads_back_as_itself(text: str):
    config = read(text)
    again = read(config.to_yaml())
    assert again.resolved() == config.resolved()
    assert again.digest == config.digest


def test_a_probability_is_drawn_as_whether():
    config = read("randomization: {human: {bystander_probability: 0.25}}")
    assert config.randomization["bystander_probability"] == Choice((0.0, 1.0), (0.75, 0.25))
    assert config.resolved()["randomization"] == {"human": {"bystander_probability": 0.25}}
    for wrong in ("1.5", "-0.1", "[0, 1]", "true"):
        with pytest.raises(UsageError, match="a probability from 0 to 1 was expected"):
            read(f"randomization: {{human: {{bystander_probability: {wrong}}}}}")
    usual = read("randomization: realistic").randomization["bystander_probability"]
    assert usual == Choice((0.0, 1.0), (0.9, 0.1))


def test_a_default_that_is_written_out_leaves_the_digest():
    assert read("expert: {yields_to_people: false}").digest == read("scene: {}").digest
    assert read("expert: {yields_to_people: true}").digest != read("scene: {}").digest


def test_the_digest_is_of_the_content_and_not_of_the_amount():
    config = read("rollout: {seed: 1}")
    assert config.digest == read("rollout: {seed: 2, parallel_envs: 8, episodes_per_env: 1}").digest
    assert config.digest != read("rollout: {control_hz: 50}").digest
    assert config.digest != read("randomization: {physics: {object_mass_kg: [0.1, 0.2]}}").digest


def test_an_argument_may_be_a_distribution():
    config = read("randomization: {physics: {friction_coefficient: {normal: {mean: [0.5, 0.6], std: 0.05}}}}")
    assert config.randomization["friction_coefficient"] == Normal(Uniform(0.5, 0.6), 0.05)


def test_realistic_varies_everything_and_named_rows_override_it():
    inapplicable = inapplicable_rows(PICK_AND_PLACE)
    assert {row.name for row in TABLE if "soft" in row.only_with} <= set(inapplicable)
    sensible = {name for name, row in BY_NAME.items() if row.realistic and name not in inapplicable}
    assert set(read("randomization: realistic").randomization) == sensible
    assert len(sensible) > 0.9 * sum(
        not row.of_joint and "arm" in row.robots for row in TABLE
    )  # rows of joints need a drive
    config = read("randomization: {preset: realistic, physics: {object_mass_kg: 0.2}}")
    assert config.randomization["object_mass_kg"] == Constant(0.2)
    assert config.randomization["action_delay_ms"] == Uniform(0.0, 60.0)


def physics(row: str) -> str:
    return f"randomization:\n  physics:\n    {row}\n"


BAD = {
    "empty": ("", ["empty"]),
    "a comment": ("# nothing\n", ["empty"]),
    "not YAML": ("scene: [", ["cell.yaml:1", "not YAML"]),
    "a list": ("- scene\n", ["a list", "mapping"]),
    "text": ("hello\n", ["text", "mapping"]),
    "an alias": ("a: &x {b: 1}\nc: *x\n", ["cell.yaml:1", "aliases"]),
    "a bomb": ("a: &a [x,x,x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a,*a,*a]\n" for i in range(20)), ["aliases"]),
    "a tag": ("scene: !!python/object/apply:os.system ['true']\n", ["tags"]),
    "a local tag": ("scene: !robot panda\n", ["tags"]),
    "too deep": ("a: " + "[" * 40 + "]" * 40 + "\n", ["deeper"]),
    "a key twice": ("scene: {task: pick_and_place}\nscene: {}\n", ["cell.yaml:2", "twice"]),
    "an unknown section": ("randomisation: {}\n", ["cell.yaml:1", "randomisation", "randomization"]),
    "an unknown key": ("rollout:\n  parallel_env: 3\n", ["cell.yaml:2", "rollout.parallel_env", "parallel_envs"]),
    "an unknown robot": ("scene: {robot: frank_panda}\n", ["frank_panda", "did you mean franka_panda"]),
    "an unknown task": ("scene: {task: pick_n_place}\n", ["pick_n_place", "did you mean pick_and_place"]),
    "an unknown object": ("scene: {object: cub}\n", ["cub", "did you mean cube"]),
    "a section that is a number": ("rollout: 5\n", ["rollout", "5", "mapping"]),
    "zero envs": ("rollout: {parallel_envs: 0}\n", ["parallel_envs", "0", "from 1"]),
    "negative episodes": ("rollout: {episodes_per_env: -3}\n", ["episodes_per_env", "-3"]),
    "half an env": ("rollout: {parallel_envs: 2.5}\n", ["parallel_envs", "2.5", "whole number"]),
    "true envs": ("rollout: {parallel_envs: true}\n", ["parallel_envs", "True"]),
    "too many": ("rollout: {parallel_envs: 1000000, episodes_per_env: 1000000}\n", ["1,000,000,000,000", "at most"]),
    "an uneven period": ("rollout: {control_hz: 30}\n", ["timestep_ms", "whole number of steps"]),
    "an unknown parameter": (
        physics("friction_coeficient: [0, 1]"),
        ["cell.yaml:3", "randomization.physics.friction_coeficient", "did you mean friction_coefficient"],
    ),
    "the wrong group": (physics("lighting_intensity: [1, 2]"), ["belongs under randomization.visual"]),
    "an unknown preset": ("randomization: realstic\n", ["randomization", "realstic", "did you mean realistic"]),
    "an unknown preset inside": ("randomization: {preset: wild}\n", ["randomization.preset", "wild", "realistic"]),
    "an unknown group": ("randomization: {optics: {}}\n", ["optics", "visual"]),
    "an inverted range": (physics("object_mass_kg: [0.4, 0.05]"), ["inverted", "0.4", "0.05"]),
    "a NaN": (physics("object_mass_kg: [.nan, 0.4]"), ["nan", "finite"]),
    "an infinity": (physics("object_mass_kg: [0.1, .inf]"), ["inf", "finite"]),
    "an overflow": (physics("object_mass_kg: [0.1, 1e999]"), ["object_mass_kg"]),
    "grams": (physics("object_mass_kg: [50, 400]"), ["400", "kg", "grams", "[0.05, 0.4]"]),
    "metres for centimetres": (physics("object_position_noise_cm: [-200, 200]"), ["cm", "millimetres", "[-20, 20]"]),
    "per cent": (physics("friction_coefficient: [20, 110]"), ["per cent", "[0.2, 1.1]"]),
    "a negative mass": (physics("object_mass_kg: [-0.1, 0.4]"), ["-0.1", "plausible"]),
    "three numbers": (physics("object_mass_kg: [0.1, 0.2, 0.3]"), ["list of 3", "[low, high]"]),
    "a word": (physics("object_mass_kg: heavy"), ["heavy", "[low, high]"]),
    "an unknown distribution": (physics("object_mass_kg: {gauss: [0.1, 0.2]}"), ["gauss", "normal"]),
    "a missing argument": (physics("object_mass_kg: {normal: {mean: 0.2}}"), ["normal takes mean, std"]),
    "no deviation": (physics("object_mass_kg: {normal: [0.2, 0]}"), ["std", "above 0"]),
    "a log of zero": (physics("object_mass_kg: {log_uniform: [0, 0.2]}"), ["log_uniform", "above 0"]),
    "no choice": (physics("object_mass_kg: {choice: []}"), ["choice"]),
    "bad weights": (physics("object_mass_kg: {choice: {values: [0.1, 0.2], weights: [0, 0]}}"), ["weights"]),
    "a pool of none": ("randomization: {visual: {texture_pool: 0}}\n", ["texture_pool", "0", "from 1"]),
    "a pool of a million": ("randomization: {visual: {texture_pool: 1000000}}\n", ["texture_pool", "10000"]),
    "a negative noise": ("expert: {action_noise_rad: -1}\n", ["action_noise_rad", "-1"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name(name: str):
    text, words = BAD[name]
    with pytest.raises(UsageError) as error:
        read(text)
    message = str(error.value)
    assert message.startswith("cell.yaml")
    assert all(word in message for word in words), message


def test_bad_files_are_refused_by_name(tmp_path: Path):
    big = tmp_path / "big.yaml"
    big.write_text("a: " + "x" * 2_000_000)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(bytes(range(256)))
    for path, word in (
        (tmp_path / "none.yaml", "no such file"),
        (big, "the maximum is"),
        (binary, "UTF-8"),
        (tmp_path, "folder"),
    ):
        with pytest.raises(UsageError, match=word) as error:
            load_config(path)
        assert str(path) in str(error.value)
