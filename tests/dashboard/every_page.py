"""One page of each kind, from made-up records: for the tests of layout in a browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.dashboard.made_up import write_run
from tests.diagnose.test_compare import made
from tests.diagnose.test_plan import report as gap_report
from tests.diagnose.test_plan import wrong
from tests.gate.made_up import evaluation_of
from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.test_monitor import AFTER
from tests.gate.trust.test_judgement import SIM, judged
from tests.gate.world import GOOD, POOR, World, some
from twinloop.calibrate.patch import Fitted, Unknown
from twinloop.calibrate.replay import Error, Traces
from twinloop.curate.quality import Quality, QualityFinding
from twinloop.dashboard.anchoring import render_anchoring
from twinloop.dashboard.comparison import render_comparison
from twinloop.dashboard.decision import render_decision, write_decision_page
from twinloop.dashboard.diagnosis import render_diagnosis
from twinloop.dashboard.evaluation import render_evaluation
from twinloop.dashboard.loop import render_loop
from twinloop.dashboard.monitor import render_monitor
from twinloop.dashboard.plan import render_plan
from twinloop.dashboard.quality import render_quality
from twinloop.dashboard.replay import render_replay
from twinloop.dashboard.report import write_report
from twinloop.dashboard.status import render_status
from twinloop.dashboard.training import render_training
from twinloop.dashboard.trust import render_trust
from twinloop.diagnose.compare import compare_datasets
from twinloop.diagnose.plan import make_plan
from twinloop.diagnose.report import Evidence, Unmodelled
from twinloop.gate import compare
from twinloop.gate.decision import Decision
from twinloop.gate.monitor.act import look
from twinloop.gate.registry import Registry
from twinloop.gate.status import status_of
from twinloop.learn.card import Card
from twinloop.learn.optimise import LossRecord
from twinloop.pipeline.loop import LoopResult, Round


def report(folder: Path) -> str:
    write_run(folder / "demo", episodes=400, keep_rejected=True)
    session = '{"started": "2026-01-01T10:00:00Z", "seconds": 30, "episodes": 200, "workers": 2, "timeline": [[9, 64], [20, 160], [28, 200]]}'  # noqa: E501
    (folder / "demo" / "runs.jsonl").write_text(f"{session}\n{session}\n")
    return write_report(folder / "demo").read_text(encoding="utf-8")


def interactive(folder: Path) -> str:
    write_run(folder / "interactive", episodes=200)
    return write_report(folder / "interactive", interactive=True).read_text(encoding="utf-8")


def evaluation(_: Path) -> str:
    subject = evaluation_of(np.arange(200) % 3 > 0, name="candidate")
    # Success falls at low friction.
    subject.outcomes.draws["friction_coefficient"][:] = np.where(subject.outcomes.success, 0.7, 0.3) + 0.1 * np.sin(
        np.arange(200)
    )
    return render_evaluation(subject, comparison=compare(subject, evaluation_of(np.arange(200) % 2 > 0, name="live")))


def _world(folder: Path) -> World:
    world = World(folder / "world")
    world.policy(1)
    world.promote(1)
    world.live(1)
    world.policy(2)
    turns = in_turns(world.digest(2), list(some(GOOD, 20)), world.digest(1), list(some(POOR, 20)))
    evaluations = (world.evaluated(2), world.evaluated(1))
    world.promote(2, evaluations=evaluations, runlogs=(runlog(world.path / "runs" / "met", turns),))
    return world


def gate_pages(folder: Path) -> dict[str, str]:
    """Decision, status and monitor pages of one registry."""
    world = _world(folder)
    registry = Registry.open(world.registry)
    records = [record for record in registry.ledger.records if "findings" in record.details]
    write_decision_page(world.registry, records[-1])
    status = status_of(registry, world.rules.canary)
    log = runlog(folder / "work", [Trial(world.digest(2), arm="")] * 12, began=AFTER)
    return {
        "decision": render_decision(Decision.of_record(records[-1]), records[-1]),
        "refusal": render_decision(Decision.of_record(records[0]), records[0]),
        "status": render_status(status),
        "monitor": render_monitor(look(world.registry, (log,), world.rules, scales=None)),
    }


def comparison(folder: Path) -> str:
    pair = made(folder, "early", delay_s=0.03), made(folder, "later", delay_s=0.09, shift=0.4)
    return render_comparison(compare_datasets(*pair, seed=0))


def _gap_report():
    rows = (wrong("action_delay_ms", 41.0, 6.0, trained=(0.0, 20.0)),)
    evidence = (Evidence("delay", "time between command and motion", "s", 0.041, 0.012, 5.2),)
    result = gap_report({"latency": 22.0, "contact": 6.0}, {"latency": rows})
    findings = tuple(replace(finding, evidence=evidence) for finding in result.findings)
    condition = {
        "about": "object = mug", "kind": "logged", "these": {"successes": 3, "trials": 20, "interval": [0.05, 0.36]},
        "others": {"successes": 18, "trials": 20, "interval": [0.7, 0.97]}, "p": 0.0001, "corrected": 0.002,
    }  # fmt: skip
    return replace(
        result, findings=findings, subject={"checkpoint": "candidate", "runlogs": [{"path": "a", "digest": "d" * 64}]},
        unmodelled=Unmodelled(4.0, (1.0, 7.0), evidence, (("runs/a", 3),), 0.8, 0.01, 0.2, True),
        failures={"never grasped": 9, "dropped": 3},
        phases=({"phase": "reach", "failures": 2}, {"phase": "grasp", "failures": 10}), predicted=0.52,
        looks=(condition,),
    )  # fmt: skip


def diagnosis(_: Path) -> str:
    return render_diagnosis(_gap_report())


def plan(_: Path) -> str:
    return render_plan(make_plan(_gap_report(), robot="twin", budget=100))


def quality(_: Path) -> str:
    def finding(check: str, severity: Any, first: int, last: int) -> QualityFinding:
        channel, text = "observation.state/elbow", "the value stands still while the command moves"
        return QualityFinding(check, severity, channel, first, last, 1.4, 0.5, "s", text)

    findings = [(), (finding("frozen_sensor", "error", 40, 90),), (finding("gap", "note", 10, 10),), ()]
    episodes = [
        Quality(place, f"log_{place:02d}.csv", 100 + 10 * place, 4.0, findings[place % 4]) for place in range(14)
    ]
    return render_quality("table_cleanup", episodes)


def replay(_: Path) -> str:
    time_s = np.linspace(0, 6, 900)
    channels = ("shoulder_pan", "elbow")
    traces = []
    for place in range(3):
        measured = {name: np.sin(time_s + place)[:, None] for name in channels}
        simulated = {name: np.sin(time_s + place - 0.1)[:, None] for name in channels}
        ends = [{name: values + shift for name, values in simulated.items()} for shift in (-0.15, 0.15)]
        traces.append(Traces(f"log {place}", time_s, measured, simulated, *ends))
    by_log = {
        trace.log: {name: Error("rad", 0.02 * (place + 1), 0.01, 0.1, 900) for name in channels}
        for place, trace in enumerate(traces)
    }
    bench = SimpleNamespace(name="so101", measured=[SimpleNamespace(name=name, unit="rad") for name in channels])
    record = SimpleNamespace(
        bench=bench, by_log=by_log, traces=tuple(traces), coverage=dict.fromkeys(channels, 0.91),
        errors={name: Error("rad", 0.03, 0.02, 0.1, 2700) for name in channels},
        delay_lag={}, over_time={name: list(np.linspace(0.01, 0.03, 20)) for name in channels},
    )  # fmt: skip
    return render_replay(record)  # type: ignore[arg-type]


def training(_: Path) -> str:
    losses = tuple(
        LossRecord(step, 2.0 / step, 2.5 / step + 0.001 * (step > 500), 1e-4) for step in range(50, 1001, 50)
    )
    data = {"path": "datasets/a", "kind": "sim", "episodes": 500, "held_out": 25, "frames": 60000, "weight": 0.5,
            "run_seed": 3, "digest": "e" * 64}  # fmt: skip
    space = SimpleNamespace(
        inputs=(SimpleNamespace(name="observation.state"),), robot="franka_panda", rate_hz=25.0,
        action=SimpleNamespace(unit="rad"),
    )  # fmt: skip
    card = SimpleNamespace(
        policy="diffusion", space=space, metrics={"held_out_error": {f"joint{n}": 0.01 * n for n in range(1, 8)}},
        data=(data,), settings={"width": 256, "layers": 4}, training={"steps": 1000, "batch": 512}, seed=1,
        versions={"torch": "2.13"}, instructions=("pick up the cube",), digest="f" * 64, parent="",
    )  # fmt: skip
    as_card: Card = card  # type: ignore[assignment]
    return render_training("candidate", as_card, losses)


def trust(_: Path) -> str:
    return render_trust(judged(SIM, tuple(0.8 * rate for rate in SIM)), name="pairs.json")


def loop(folder: Path) -> str:
    def rate(successes: int) -> dict[str, Any]:
        value = successes / 40
        return {"successes": successes, "trials": 40, "rate": value, "low": value - 0.1, "high": min(value + 0.1, 1)}

    rounds = tuple(
        Round(number, "c" * 64, 20 * number, 4000, "a" * 64, rate(36), rate(14 + 9 * number), {"stage": "canary"},
              "latency: command_latency_ms 41 (35 to 47) costs 22 points", ("latency",), ({"episodes": 20},), 20, True)
        for number in range(3)
    )  # fmt: skip
    return render_loop(LoopResult(folder / "first_loop", rounds, False, "3 rounds were allowed"), 0.9)


def anchoring(_: Path) -> str:
    rng = np.random.default_rng(0)
    images = tuple(tuple(rng.integers(0, 255, (72, 96, 3), dtype=np.uint8) for _ in range(3)) for _ in range(2))
    residual = {name: {"real": 0.1, "before": 0.4, "after": 0.12} for name in ("light", "red", "edge")}
    patch = SimpleNamespace(
        fitted={"exposure_ev": Fitted(-0.6, -0.7, -0.5, "EV")}, ranges={"exposure_ev": (-0.8, -0.4)},
        unknown={"defocus_px": Unknown("every frame is sharp", "A frame out of focus")},
        provenance=SimpleNamespace(twin="front", residual=residual),
    )  # fmt: skip
    record = SimpleNamespace(patch=patch, distance_before=21.4, distance_after=8.1, pictures=images)
    return render_anchoring(record)  # type: ignore[arg-type]


ALONE: dict[str, Callable[[Path], str]] = {
    function.__name__: function
    for function in (
        report, interactive, evaluation, comparison, diagnosis, plan, quality, replay, training, trust, loop, anchoring
    )
}  # fmt: skip


def write_pages(folder: Path) -> dict[str, Path]:
    """Name -> file of every kind of page."""
    pages = {name: function(folder) for name, function in ALONE.items()} | gate_pages(folder)
    files = {name: folder / f"{name}.html" for name in pages}
    for name, file in files.items():
        file.write_text(pages[name], encoding="utf-8")
    return files
