"""The gate is the only door onto hardware. Each test tries one way round it; the robot must not move."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import twinloop as tl
from tests.deploy.scripted_robot import ScriptedRobot
from tests.gate.checkpoints import checkpoint
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.session import deploy
from twinloop.errors import RegistryError, TwinloopError, UsageError
from twinloop.gate.ledger import HEAD, LEDGER, read_ledger
from twinloop.gate.permit import RegistryEntry, permit_for, reserve
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import DEMOTED, PROMOTED, TWIN
from twinloop.gate.signing import create_key
from twinloop.gate.stage_limits import PERMIT, StageLimits, expiry
from twinloop.twin.twin import Twin

HARDWARE = {"simulated": False, "serial": "A-17", "firmware": "3.10"}
CANARY = StageLimits(
    speed=0.3, force_n=80.0, margin_m=0.02, attended=False, episodes=4, expires=expiry(30), robots=(), twins=("c" * 64,)
)


class Lab:
    """A hardware robot, and a registry with a policy in canary on it."""

    def __init__(self, folder: Path, twin: Twin):
        self.folder, self.registry, self.twin = folder, folder / "registry", twin
        self.robot = ScriptedRobot(twin, **HARDWARE)
        about = self.robot.describe()
        self.policy = checkpoint(folder / "policy", space=about.space())
        self.limits = replace(CANARY, robots=(about.identity,))
        with writing(self.registry, actor="ada") as writer:
            self.digest = writer.pin(self.policy).digest
        self.decide(self.limits)

    def decide(self, limits: StageLimits, transition: str = "validated -> canary") -> None:
        with writing(self.registry, actor="ada") as writer:
            writer.decide(
                PROMOTED, checkpoint=self.digest, transition=transition, details={PERMIT: limits.to_json()}
            )  # fmt: skip

    def deploy(self, name: str = "canary", robot: ScriptedRobot | None = None, **changes) -> None:
        options = {"episodes": 1, "stop_file": self.folder / "stop", **changes}
        entry = RegistryEntry(options.pop("registry", self.registry), name)
        deploy({"": entry}, robot or self.robot, self.folder / "log", **options)

    def refused(self, match: str, act: Callable[[], object], robot: ScriptedRobot | None = None) -> None:
        with pytest.raises(TwinloopError, match=match):
            act()
        assert not (robot or self.robot).sent, "the robot was commanded"
        assert not (self.folder / "log").exists(), "a runlog was begun"


@pytest.fixture
def lab(tmp_path: Path, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Lab(tmp_path, twin)


def test_the_permit_has_the_limits_of_the_decision(lab: Lab):
    permit = permit_for(RegistryEntry(lab.registry, "canary"), lab.robot.describe().identity)
    assert (permit.stage, permit.checkpoint, permit.limits, permit.left) == ("canary", lab.digest, lab.limits, 4)
    assert permit.columns["gate/decision"] == Registry.open(lab.registry).state.decided[lab.digest].digest


def test_a_path_is_refused_from_python_and_from_the_session(lab: Lab):
    lab.refused("is hardware", lambda: tl.deploy(str(lab.policy), lab.robot, lab.folder / "log", episodes=1))
    lab.refused("is hardware", lambda: deploy({"": lab.policy}, lab.robot, lab.folder / "log", episodes=1))
    exported = lab.folder / "policy.onnx"
    exported.write_bytes(b"")
    lab.refused("is hardware", lambda: deploy({"": exported}, lab.robot, lab.folder / "log", episodes=1))


def test_no_option_exceeds_the_decision(lab: Lab):
    lab.refused("allows 0.3 at most", lambda: lab.deploy(config=DeployConfig(speed=0.9)))
    lab.refused("allows one worker", lambda: lab.deploy(workers=2))


def test_a_validated_policy_or_a_candidate_does_not_reach_hardware(lab: Lab):
    other = checkpoint(lab.folder / "other", number=2, space=lab.robot.describe().space())
    with writing(lab.registry, actor="ada") as writer:
        digest = writer.pin(other).digest
    lab.refused("is at stage candidate", lambda: lab.deploy(digest[:12]))
    lab.refused("nothing is live", lambda: lab.deploy("production"))


def test_a_changed_card_or_weights_file_is_refused(lab: Lab):
    pinned = lab.registry / "checkpoints" / lab.digest
    file = next(pinned.glob("*.json"))
    text = file.read_text()
    file.write_text(text.replace('"steps": 5', '"steps": 6'))
    lab.refused("was altered", lab.deploy)
    file.write_text(text)
    weights = next(pinned.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    lab.refused("does not match its card", lab.deploy)


def test_a_copied_or_older_registry_is_refused(lab: Lab):
    identity = lab.robot.describe().identity
    before = lab.folder / "before"
    shutil.copytree(lab.registry, before)
    permit_for(RegistryEntry(lab.registry, "canary"), identity)  # this computer has seen the original
    lab.refused("is a copy of the registry", lambda: lab.deploy(registry=before))
    with writing(lab.registry, actor="ada") as writer:
        writer.add(TWIN, DEMOTED, details={"twin": "d" * 64}, reasons=["it was wrong"])
    permit_for(RegistryEntry(lab.registry, "canary"), identity)
    shutil.rmtree(lab.registry)
    shutil.move(before, lab.registry)
    lab.refused("lacks record", lab.deploy)


def test_another_registry_in_the_same_place_is_refused(lab: Lab):
    permit_for(RegistryEntry(lab.registry, "canary"), lab.robot.describe().identity)
    shutil.rmtree(lab.registry)
    with writing(lab.registry, actor="eve") as writer:
        writer.pin(lab.policy)
    lab.decide(lab.limits)
    lab.refused("is another registry", lab.deploy)


def test_an_edited_or_cut_ledger_is_refused(lab: Lab):
    ledger = lab.registry / LEDGER
    text = ledger.read_bytes()
    ledger.write_bytes(text.replace(b'"speed":0.3', b'"speed":1.0'))
    lab.refused("was altered", lab.deploy)
    ledger.write_bytes(b"".join(text.splitlines(keepends=True)[:-1]))
    lab.refused("removed from the end", lab.deploy)


def test_an_expired_decision_is_refused(lab: Lab):
    lab.decide(replace(lab.limits, expires=(datetime.now(UTC) - timedelta(seconds=1)).isoformat()))
    lab.refused("expired", lab.deploy)


def test_another_robot_serial_number_or_firmware_is_refused(lab: Lab):
    for changes, words in (
        ({"serial": "A-18"}, "serial number is 'A-18'"),
        ({"firmware": "3.11"}, "firmware is '3.11'"),
        ({"id": "scripted-2"}, "the decision is about scripted"),
        ({"home": (0.0,) * 8}, "description have changed"),
    ):
        robot = ScriptedRobot(lab.twin, **{**HARDWARE, **changes})
        lab.refused(words, lambda robot=robot: lab.deploy(robot=robot), robot)


def test_a_decision_from_simulated_trials_does_not_reach_hardware(lab: Lab):
    simulated = replace(lab.robot.describe().identity, simulated=True)
    lab.decide(replace(lab.limits, robots=(simulated,)))
    lab.refused("it is hardware now", lab.deploy)
    lab.decide(replace(lab.limits, robots=()))
    lab.refused("the decision is about no hardware", lab.deploy)


def test_a_twin_that_has_changed_or_was_demoted_is_refused(lab: Lab):
    robot = ScriptedRobot(lab.twin, **HARDWARE, twin_digest="e" * 64)
    lab.refused("its twin has changed", lambda: lab.deploy(robot=robot), robot)
    with writing(lab.registry, actor="ada") as writer:
        writer.add(TWIN, DEMOTED, details={"twin": "c" * 64}, reasons=["it was wrong"])
    lab.refused("is demoted", lab.deploy)


def test_a_policy_for_another_model_is_refused(lab: Lab):
    robot = ScriptedRobot(lab.twin, **HARDWARE, robot="ur5e")
    lab.refused("was trained for", lambda: lab.deploy(robot=robot), robot)


def test_a_clock_that_is_behind_the_ledger_is_refused(lab: Lab):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(RegistryError, match="set the clock"):
        permit_for(RegistryEntry(lab.registry, "canary"), lab.robot.describe().identity, now=yesterday)


def test_a_session_without_a_terminal_is_refused_if_the_decision_demands_an_operator(lab: Lab):
    lab.decide(replace(lab.limits, attended=True))
    lab.refused("demands an operator", lab.deploy)
    lab.refused("demands an operator", lambda: lab.deploy(attended=True))  # pytest has no terminal


def test_episodes_are_counted_over_all_runlogs(lab: Lab):
    entry, identity = RegistryEntry(lab.registry, "canary"), lab.robot.describe().identity
    permit = permit_for(entry, identity)
    reserve(entry, permit, lab.folder / "monday", identity, episodes=3)
    reserve(entry, permit, lab.folder / "monday", identity, episodes=3)  # continued: counted once
    assert permit_for(entry, identity).left == 1
    with pytest.raises(RegistryError, match="3 are reserved by other sessions"):
        reserve(entry, permit, lab.folder / "tuesday", identity, episodes=2)
    with pytest.raises(RegistryError, match="3 are used or reserved"):
        permit_for(entry, identity, episodes=2)


def test_a_forged_approval_or_promotion_in_a_signed_ledger_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    """Somebody who can write the folder recomputes every digest, but has no key."""
    key = lab.folder / "ada.pem"
    signer = create_key(key)
    with writing(lab.registry, key=key) as writer:
        writer.add_key(signer, "ada", signer.public)
    monkeypatch.delenv("TWINLOOP_KEY", raising=False)
    with pytest.raises(RegistryError, match="needs a signature of ada"), writing(lab.registry, actor="ada") as writer:
        writer.approve(lab.digest, "production")
    # The records are appended by hand, with valid digests and a valid chain.
    records = read_ledger(lab.registry).records
    forged = replace(
        records[-2], sequence=len(records) + 1, previous=records[-1].digest, kind="approval", verdict="approved",
        details={"stage": "production"}, signature={},
    )  # fmt: skip
    with (lab.registry / LEDGER).open("ab") as file:
        file.write(forged.to_line())
    (lab.registry / HEAD).write_text(json.dumps({"sequence": forged.sequence, "digest": forged.digest}))
    lab.refused("is not signed", lab.deploy)


def test_an_unsigned_rollback_is_always_possible(lab: Lab):
    """A robot can be stopped without a key."""
    lab.decide(lab.limits, "canary -> production")
    key = lab.folder / "ada.pem"
    signer = create_key(key)
    with writing(lab.registry, key=key) as writer:
        writer.add_key(signer, "ada", signer.public)
    with writing(lab.registry) as writer:
        writer.withdraw(reasons=["it dropped the cube"])
    lab.refused("nothing is live", lambda: lab.deploy("production"))


def test_a_simulated_robot_accepts_a_path_and_records_it(twin: Twin, tmp_path: Path):
    from tests.deploy.unruly import PROGRAM, policy_file

    robot = ScriptedRobot(twin)
    policy = policy_file(tmp_path / "policy.json", robot.describe().space())
    config = DeployConfig(episode_timeout_s=0.2)
    done = deploy(
        {"": policy}, robot, tmp_path / "log", episodes=1, config=config, stop_file=tmp_path / "stop", program=PROGRAM
    )
    (row,) = tl.Dataset.open(done.path).attempts().to_pylist()
    assert (row["gate/stage"], row["gate/decision"], row["robot/simulated"]) == ("ungated", "", True)


def test_a_name_needs_a_registry(twin: Twin, tmp_path: Path):
    entry = RegistryEntry(tmp_path / "registry", "production")
    with pytest.raises(UsageError, match="is not a registry"):
        deploy({"": entry}, ScriptedRobot(twin, **HARDWARE), tmp_path / "log", episodes=1)
