"""Laws of Ray: the digest equals that of one local worker, also when workers are killed every 2 s, or the driver.

All tests share one Ray, since it takes seconds to start: on loopback, with a token. TWINLOOP_FAULTS=full repeats more.
"""

import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate import tosses
from tests.calibrate.made import command, logs_of_truth, xl330
from tests.conftest import Simulate
from tests.environments.cells import config_of as practice
from tests.fleet.work import die_once, double, run_out_of_disk
from tests.laws.conftest import EPISODES
from tests.learn.neighbours import Neighbours
from tests.object_store import Store
from twinloop.calibrate.by_population import fit_by_population
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.patch import TwinPatch
from twinloop.calibrate.sweep import Where
from twinloop.dataset import Dataset, DatasetWriter, verify
from twinloop.dataset.remote.address import Remote
from twinloop.errors import RenderError, StorageError, UsageError, WorkerError
from twinloop.fleet.executor import LOCAL
from twinloop.fleet.on_ray import RayExecutor
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import Candidate
from twinloop.observe.gl import context
from twinloop.pipeline.generate import generate, header_of
from twinloop.pipeline.produce import GenerateJob, produce
from twinloop.run.config import RunConfig, config_from_text
from twinloop.simulate.engine import EngineConfig
from twinloop.twin.twin import Twin

# Found without an import: Ray's ports are configured at import, which Twinloop does.
if find_spec("ray") is None:
    pytest.skip("Ray is not installed: pip install 'twinloop[ray]'", allow_module_level=True)

FULL = bool(os.environ.get("TWINLOOP_FAULTS"))
MOST_WORKERS = 7


HOLD = f"""
import sys
from tests.fleet.work import double
from twinloop.fleet.on_ray import RayExecutor
list(RayExecutor().run(double, None, [0], workers={MOST_WORKERS}))
import ray
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""

FILMED = """
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, 0, 0.12], width: 32, height: 32, rate_hz: 5, depth: true}
randomization: {visual: {read_noise: [0, 2]}}
dataset: {shard_episodes: 1}
"""


@pytest.fixture(scope="module")
def holder(object_store: Store) -> Iterator[tuple[int, str]]:  # noqa: ARG001
    """A process that starts Ray as `--executor ray` does and keeps it: its pid, and the address of its Ray.

    After the object store, since workers have the environment of who starts Ray.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            import ray

            ray.shutdown()
            process.communicate()


@pytest.fixture(scope="module")
def cluster(holder: tuple[int, str]) -> str:
    return holder[1]


@pytest.fixture(scope="module")
def intruder(cluster: str) -> subprocess.Popen:
    """A process with another token. Ray retries for a while, so it starts before the others."""
    return _knock(cluster, RAY_AUTH_TOKEN="0" * 64)


@pytest.fixture(scope="module")
def executor(cluster: str, intruder: subprocess.Popen) -> RayExecutor:  # noqa: ARG001
    return RayExecutor(cluster)


def test_every_item_is_done_once_and_no_items_are_no_work(executor: RayExecutor):
    assert sorted(executor.run(double, None, range(20), workers=3)) == [(item, 2 * item) for item in range(20)]
    assert list(executor.run(double, None, [], workers=2)) == []


def test_a_worker_that_dies_is_replaced_and_its_items_done_again(executor: RayExecutor, tmp_path: Path):
    results = sorted(executor.run(die_once, str(tmp_path / "died"), range(12), workers=2))
    assert (tmp_path / "died").exists()
    assert results == [(item, 2 * item) for item in range(12)]


def test_an_error_keeps_its_type_and_message(executor: RayExecutor):
    for _ in range(10):  # Ray may end a driver that cancels a task which has just failed
        with pytest.raises(StorageError, match="no room for 0"):
            list(executor.run(run_out_of_disk, None, [0], workers=2))


@pytest.mark.parametrize("workers", [1, 2, 7] if FULL else [7])
def test_one_digest(executor: RayExecutor, config: RunConfig, digest: str, workers: int, tmp_path: Path):
    assert generate(config, tmp_path / "data", episodes=EPISODES, workers=workers, executor=executor).digest == digest


def test_one_digest_in_an_object_store(object_store: Store, executor: RayExecutor, config: RunConfig, digest: str):
    """Workers publish their shards; the driver does not copy them."""
    remote = Remote(object_store.address("cell"))
    assert generate(config, remote, episodes=EPISODES, workers=2, executor=executor).digest == digest
    assert verify(remote).require().complete


def test_shuffled(executor: RayExecutor, config: RunConfig, digest: str, tmp_path: Path):
    with DatasetWriter.open(tmp_path / "d", header_of(config, "d", EPISODES, False), config.to_yaml()) as writer:
        ranges = writer.missing()
        random.Random(5).shuffle(ranges)
        job = GenerateJob(config.to_yaml(), str(tmp_path), False, str(writer.scratch("")), width=3)
        for _, draft in executor.run(produce, job, ranges, workers=2):
            writer.commit(draft)
        assert writer.finish() == digest


def test_one_digest_of_pictures(executor: RayExecutor, tmp_path: Path):
    """Drawn by the workers, each with a context of its own."""
    pytest.importorskip("av", reason="needs twinloop[video]")
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    config = config_from_text(FILMED, name="cell.yaml", folder=tmp_path)
    here = generate(config, tmp_path / "here", episodes=2, workers=1)
    there = generate(config, tmp_path / "there", episodes=2, workers=2, executor=executor)
    assert there.digest == here.digest
    assert there.progress.accepted >= 1


def test_evaluations_are_the_same(executor: RayExecutor, simulate: Simulate, twin: Twin, tmp_path: Path):
    runtime = replace(Neighbours.of(simulate(15), twin), executed=8)
    runtime.save(tmp_path / "neighbours.npz")
    load = partial(Neighbours.load, tmp_path / "neighbours.npz")
    candidate = Candidate("neighbours", "0" * 64, "neighbours", runtime.space, load, frozenset({3}))
    config = config_from_text("rollout: {parallel_envs: 64}", name="cell.yaml", folder=tmp_path).with_seed(11)
    here, there = (
        evaluate(candidate, config, config_name="cell", episodes=20, workers=workers, executor=where)
        for workers, where in ((1, LOCAL), (2, executor))
    )
    assert there.results() == here.results()
    assert np.array_equal(there.outcomes.duration_s, here.outcomes.duration_s)


@pytest.mark.parametrize("search", ["slopes", "population"])
def test_calibrations_are_the_same(executor: RayExecutor, search: str, tmp_path: Path):
    there = Where(executor=executor, workers=2)
    for name, where in (("here", Where(1)), ("there", there)):
        _calibrated(search, where).write(tmp_path / name)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def _calibrated(search: str, where: Where) -> TwinPatch:
    if search == "slopes":
        bench, truth = xl330(), {"pendulum.resistance_ohm": 2.2, "pendulum.coulomb_nm": 0.03}
        logs = [log.select(slice(0, 150)) for log in logs_of_truth(bench, truth, seed=5, asked=[command(2, 200)])]
        return calibrate(bench, check(bench, logs), list(truth), seed=0, where=where).patch
    bench, rng = tosses.bench(), np.random.default_rng(2)
    logs = tosses.logs_of(tosses.tossed({"friction": 0.22}, count=2, frames=80, rng=rng))
    return fit_by_population(bench, check(bench, logs), ["friction"], seed=0, where=where, generations=1).patch


def test_reinforced_weights_are_the_same(executor: RayExecutor, tmp_path: Path):
    pytest.importorskip("rsl_rl", reason="reinforcement is not installed: pip install 'twinloop[rl]'")
    from twinloop.learn.reinforce.config import ReinforceConfig
    from twinloop.learn.reinforce.start import reinforce

    settings = ReinforceConfig(iterations=2, num_envs=4, shards=2, steps=5, width=16, depth=1, mini_batches=2)
    here, there = (
        reinforce(practice("{time_limit_s: 0.3}"), tmp_path / place.name, settings, executor=place, workers=2)
        for place in (LOCAL, executor)
    )
    assert here.checkpoint.card.weights == there.checkpoint.card.weights


def test_a_worker_with_other_versions_is_refused(executor: RayExecutor, config: RunConfig, tmp_path: Path):
    job = GenerateJob(config.to_yaml(), str(tmp_path), False, str(tmp_path), width=3, versions=(("mujoco", "3.0.0"),))
    with pytest.raises(WorkerError, match=r"mujoco .* instead of 3\.0\.0"):
        list(executor.run(produce, job, [(0, 4)], workers=1))


def test_warp_on_ray_is_refused(executor: RayExecutor, config: RunConfig, tmp_path: Path):
    with pytest.raises(UsageError, match=r"--backend warp does not run with --executor ray.*twinloop merge"):
        generate(config, tmp_path / "data", episodes=2, engine=EngineConfig("warp", "cuda:0"), executor=executor)
    assert not (tmp_path / "data").exists()


def test_ray_listens_on_loopback_only(holder: tuple[int, str]):
    """Every port of every process that Ray has started, as the kernel lists them."""
    listening = _listening({holder[0], *_descendants(holder[0])})
    assert len(listening) >= 4  # ports of Ray itself: the listing works
    assert {host for host, _ in listening} == {"127.0.0.1"}


@pytest.mark.skipif(not FULL, reason="docs/scale.md starts a Ray of its own, under one hash seed, in every run")
@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_under_any_hash_seed_with_a_ray_of_its_own(config: RunConfig, digest: str, hash_seed: str, tmp_path: Path):
    done = subprocess.run(
        _command(config, tmp_path), check=True, capture_output=True, text=True, timeout=300,
        env={**_without_ray(), "PYTHONHASHSEED": hash_seed},
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["digest"] == digest


def test_the_digest_is_the_same_when_workers_are_killed_every_two_seconds(
    holder: tuple[int, str], executor: RayExecutor, config: RunConfig, digest: str, tmp_path: Path
):
    seed = int(os.environ.get("TWINLOOP_SEED", "0")) or time.time_ns() % 1_000_000
    print(f"TWINLOOP_SEED={seed}")
    episodes = 600 if FULL else EPISODES
    if FULL:
        digest = generate(config, tmp_path / "undisturbed", episodes=episodes).digest
    killer = _Killer(holder[0], most=40 if FULL else 4, seed=seed)
    killer.start()
    try:
        made = generate(config, tmp_path / "data", episodes=episodes, workers=3, executor=executor)
    finally:
        killer.enough.set()
        killer.join()
    print(f"{len(killer.killed)} workers were killed")
    assert len(killer.killed) >= 2
    assert made.digest == digest
    _nothing_twice(tmp_path / "data", episodes)


@pytest.mark.parametrize("shards", [0, 1, 3, 5] if FULL else [2])
def test_the_digest_survives_a_killed_driver(config: RunConfig, digest: str, shards: int, cluster: str, tmp_path: Path):
    """Killed once that many shards are committed; its workers may outlive it by a moment."""
    command = [*_command(config, tmp_path), "--address", cluster]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest, deadline = tmp_path / "data" / "manifest.jsonl", time.monotonic() + 240
    while first.poll() is None and time.monotonic() < deadline:
        if (tmp_path / "data").exists() and (manifest.read_text() if manifest.exists() else "").count("\n") >= shards:
            break
        time.sleep(0.01)
    assert first.poll() is None, "it was done before it could be killed"
    first.kill()
    first.wait()
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert json.loads(done.stdout.splitlines()[-1])["digest"] == digest
    _nothing_twice(tmp_path / "data")


def test_an_unreachable_cluster_is_named():
    done = _knock("127.0.0.1:1").communicate(timeout=120)[0]
    assert "--address 127.0.0.1:1: no Ray cluster answers" in done


def test_another_token_is_refused(cluster: str, intruder: subprocess.Popen):
    done = intruder.communicate(timeout=240)[0]
    assert f"--address {cluster}: no Ray cluster answers" in done
    assert "InvalidAuthToken" in done


def _knock(address: str, **environment: str) -> subprocess.Popen:
    code = f"from twinloop.fleet.on_ray import RayExecutor; RayExecutor({address!r}).capacity()"
    command = [sys.executable, "-c", code]
    env = {**os.environ, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)


def _without_ray() -> dict[str, str]:
    """The environment without variables of Ray."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def _command(config: RunConfig, folder: Path) -> list[str]:
    file = folder / "cell.yaml"
    file.write_text(config.to_yaml())
    command = [sys.executable, "-m", "twinloop", "generate", str(file), "--episodes", str(EPISODES), "--workers", "2"]
    return [*command, "--out", str(folder / "data"), "--executor", "ray", "--json"]


def _nothing_twice(path: Path, episodes: int = EPISODES) -> None:
    verify(path).require()
    attempts = Counter(Dataset.open(path).attempts()["attempt"].to_pylist())
    assert attempts == Counter(range(episodes))


class _Killer(threading.Thread):
    """Kills one of the workers that are at work, again and again."""

    def __init__(self, root: int, *, most: int, seed: int):
        super().__init__(daemon=True)
        self.enough, self.killed = threading.Event(), []
        self._pause_s = 2.0 if FULL else 0.5  # a few episodes would be done in two seconds
        self._root, self._most, self._rng = root, most, random.Random(seed)

    def run(self) -> None:
        while len(self.killed) < self._most and not self.enough.wait(self._pause_s if self.killed else 0.2):
            busy = [pid for pid in _descendants(self._root) if "twinloop.produce" in _title(pid)]
            if busy:
                self.killed.append(self._rng.choice(sorted(busy)))
                os.kill(self.killed[-1], signal.SIGKILL)


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    addresses: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        addresses |= fresh
    return addresses


def _listening(pids: set[int]) -> set[tuple[str, int]]:
    """(host, port) of every TCP socket these processes wait at."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
            except OSError:
                continue
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                host, port = fields[1].split(":")
                quad = bytes.fromhex(host[-8:])[::-1]
                local = len(host) == 8 or host[:24] == "0000000000000000FFFF0000"
                addresses.add((".".join(map(str, quad)) if local else host, int(port, 16)))
    return addresses
