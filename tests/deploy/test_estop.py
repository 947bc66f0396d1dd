"""The e-stop latches: a file that outlives processes, tripped by anything, reset by a human."""

import os
import pty
import signal
import stat
from pathlib import Path

import pytest

from twinloop.deploy.estop import EStop, stop_file_of
from twinloop.deploy.keys import Keys
from twinloop.deploy.operator_input import EpisodeStopped, OperatorInput
from twinloop.errors import EStopError


@pytest.fixture
def estop(tmp_path: Path) -> EStop:
    return EStop(tmp_path / "state" / "stop")


def test_the_e_stop_stays_latched_until_it_is_reset(estop: EStop):
    estop.refuse()
    estop.trip("a test")
    estop.trip("somebody later")
    other = EStop(estop.path)
    assert other.latched
    assert other.reason().startswith("a test, 20")
    with pytest.raises(EStopError, match=r"a test.*--reset-stop or remove"):
        other.refuse()
    other.reset()
    estop.refuse()
    estop.reset()


def test_a_file_that_anybody_put_there_is_a_latch(estop: EStop, tmp_path: Path):
    estop.path.parent.mkdir()
    for content in (b"", b"\xff\xfe\x00", b"x" * 100_000):
        estop.path.write_bytes(content)
        assert estop.latched
        assert len(estop.reason()) < 300
    estop.path.unlink()
    estop.path.symlink_to(tmp_path / "nowhere")
    assert estop.latched


def test_a_file_that_cannot_be_examined_counts_as_latched(estop: EStop):
    if os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    estop.path.parent.mkdir(mode=0)
    try:
        assert estop.latched
    finally:
        estop.path.parent.chmod(stat.S_IRWXU)


def test_each_robot_has_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ours, theirs = stop_file_of("rehearsal:my/cell.yaml"), stop_file_of("rehearsal:nominal")
    assert ours != theirs
    assert ours.parent == theirs.parent == tmp_path / "twinloop"


def test_a_signal_trips_it_and_the_handler_goes_back(estop: EStop):
    before = signal.getsignal(signal.SIGUSR1)
    with estop.on_signal():
        os.kill(os.getpid(), signal.SIGUSR1)
        assert estop.reason().startswith("signal SIGUSR1")
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.fixture
def typed(estop: EStop):
    """An attention with a terminal, and the other end of it."""
    ours, theirs = pty.openpty()
    with Keys(theirs) as keys:
        yield OperatorInput(estop, keys), ours
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("key", [b" ", b"e"])
def test_a_key_trips_the_e_stop(typed, estop: EStop, key: bytes):
    operator, terminal = typed
    operator.look()
    os.write(terminal, key)
    with pytest.raises(EpisodeStopped, match="a key in the terminal") as stopped:
        operator.look()
    assert stopped.value.why == "e_stop"
    assert operator.interventions == 1
    assert estop.latched
    os.write(terminal, b"xr")
    assert operator.reset_by_hand()
    assert not estop.latched


def test_q_ends_without_a_reset(typed, estop: EStop):
    operator, terminal = typed
    estop.trip("a test")
    os.write(terminal, b"q")
    assert not operator.reset_by_hand()
    assert estop.latched


def test_keys_mark_takeovers_and_end_an_episode(typed):
    operator, terminal = typed
    os.write(terminal, b"tt")
    operator.look()
    assert operator.interventions == 2
    os.write(terminal, b"a")
    with pytest.raises(EpisodeStopped, match="ended by the operator"):
        operator.look()
    operator.begin()
    assert operator.interventions == 0


@pytest.mark.parametrize(("key", "success"), [(b"s", True), (b"f", False), (b"u", None), (b"xs", True)])
def test_a_human_judges_by_a_key(typed, key: bytes, success: bool | None):
    operator, terminal = typed
    os.write(terminal, key)
    assert operator.ask_outcome() is success


def test_without_a_terminal_it_cannot_be_reset(estop: EStop):
    estop.trip("a test")
    assert not OperatorInput(estop).reset_by_hand()
