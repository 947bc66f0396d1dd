import pytest

from tests.learn.demonstrated import reaching
from twinloop.cli import main
from twinloop.cli.progress import format_duration
from twinloop.cli.training import KINDS, StepRate

pytest.importorskip("torch")


def test_the_command_line_lists_every_policy():
    """Named in the command line, since importing them takes seconds."""
    from twinloop.learn.policies import POLICIES

    assert tuple(POLICIES) == KINDS


def test_the_progress_line_has_rate_and_time_left():
    rate = StepRate(100.0)
    assert rate.update(1, 160.0) == 60.0  # the first step took a minute
    assert rate.text(1001) == ""
    assert rate.update(2, 162.0) is None
    assert rate.text(1002) == ", 2.0 s/step, 33 min left"
    rate.update(101, 210.0)
    assert rate.text(1101) == ", 2.0 steps/s, 8 min left"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (91, "2 min"), (5399, "1 h 30 min"), (11_100, "3 h 05 min")]
)
def test_durations(seconds: float, text: str):
    assert format_duration(seconds) == text


@pytest.mark.slow
def test_training_prints_its_data_and_the_time_left(tmp_path, capsys):
    data = reaching(tmp_path / "data")
    assert main(["train", str(data), "--steps", "3", "--out", str(tmp_path / "policy")]) == 0
    output = capsys.readouterr()
    text = " ".join((output.out + output.err).split())
    assert "Training mlp from state, environment_state: " in text
    assert "3 steps with batches of 512 frames." in text
    assert "First step, with setup: " in text


@pytest.mark.parametrize("command", ["train", "loop"])
def test_help_names_every_setting_of_every_policy(command: str, capsys: pytest.CaptureFixture[str]):
    from twinloop.learn.policies import POLICIES

    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    for name, policy in POLICIES.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"  {name} ") and "=" in line]
        assert line.split()[1:] == [f"{key}={value}" for key, value in policy.default_settings().items()]
