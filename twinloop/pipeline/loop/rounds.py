"""The rounds of a loop, one folder each. After a kill, the same command continues.

round-0/  config.yaml  policy/  evaluation/  runlog/  diagnosis/  calibration/  plan.json  requests.json  round.json
round-1/  ...          its policy is that of round 0, fine-tuned
collected/             demonstrations on the robot, a log for each round that asked for them
datasets/              simulated episodes, by config
registry/              what the gate decided, and on what
banks/                 counterfactuals, by policy
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from twinloop.calibrate.plan_gains import experience_of, predicted_gain, realised_gain
from twinloop.calibrate.robot_twin import RobotTwin, Trials
from twinloop.curate.rates import Rate
from twinloop.deploy.collect import scene_of
from twinloop.deploy.demonstration_budget import demonstrations_in
from twinloop.deploy.gated_trials import TrialsResult
from twinloop.deploy.questions import Ask, People
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.robots import Workplace, robot_named, with_scene
from twinloop.diagnose.widening import widened_in
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate.evaluation import rate_json
from twinloop.pipeline.loop.collecting import BEFORE, Collecting
from twinloop.pipeline.loop.record import NOT_DEPLOYED, LoopResult, Round, read_round, write_json
from twinloop.pipeline.loop.settings import COLLECTING, LoopConfig, refuse_another
from twinloop.pipeline.loop.steps import Steps
from twinloop.run.config import RunConfig, load_config

OnStep = Callable[[int, str], None]


def run_loop(
    config: RunConfig,
    settings: LoopConfig,
    out: Path,
    *,
    executor: Executor = LOCAL,
    robot: LiveRobot | None = None,
    ask: Ask = lambda _: None,
    on_step: OnStep = lambda *_: None,
) -> LoopResult:
    """Run rounds until the target is reached or the rounds are used up.

    Args:
        executor: where episodes are simulated.
        robot: a live robot to use instead of the one that the settings name.
        ask: asks a person at the terminal.
        on_step: called with the round number and a description of the step.

    Raises:
        WaitingError: a person is needed. The same call continues after the answer, also days later.
    """
    name = with_scene(settings.robot, robot=config.scene.robot.name, task=config.scene.task.name)
    place = Workplace(robot or name, config.scene.task)
    if not (out / "loop.json").exists():
        _reach(place.robot, settings)
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    refuse_another(out, config, settings)
    people = People(out, simulated=settings.simulated, ask=ask)
    rounds: list[Round] = []
    why = f"all {settings.rounds} rounds are done"
    for number in range(settings.rounds + 1):
        steps = Steps(out, settings, number, lambda step, at=number: on_step(at, step), executor, place)
        done = _round(config, steps, people, tuple(rounds))
        rounds.append(done)
        if not _short(done, settings):
            why = f"{done.robot['successes']} of {done.robot['trials']} on the robot reach the target"
            break
        if number < settings.rounds:
            config = next_config(config, steps, people)
    reached = not _short(rounds[-1], settings)
    result = LoopResult(out, tuple(rounds), reached, why)
    write_json(out / "loop.json", {"settings": asdict(settings), "reached": reached, "why": why,
                                   "rounds": [asdict(record) for record in rounds]})  # fmt: skip
    return result


def _reach(robot: str | LiveRobot, settings: LoopConfig) -> None:
    """Connect once, so that a wrong name or a robot that is off fails before hours of simulation."""
    live = robot_named(robot)
    try:
        about = live.connect()
        scene_of(live, settings.demonstrator_sees)
    finally:
        live.close()
    for option, given in (("--simulated", settings.simulated), ("--ungated", not settings.gated)):
        if given and not about.simulated:
            raise UsageError(f"{option}: {about.id} is hardware; there the gate and people decide")


def _round(config: RunConfig, steps: Steps, people: People, before: tuple[Round, ...]) -> Round:
    settings, number, folder = steps.settings, steps.number, steps.folder
    collecting = Collecting(steps.out, settings, people, steps.place)
    file, last = folder / "round.json", number == settings.rounds
    if file.exists():
        done = read_round(file)
        if last or done.prepared or not _short(done, settings):
            return done
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
        replace_file(folder / "config.yaml", config.to_yaml().encode(), scratch=folder)
    if settings.strategy == "real" and number == 0:
        first = folder / "before"
        with storage_errors(first):
            first.mkdir(exist_ok=True)
        collecting.run(BEFORE, collecting.requests(BEFORE, None, first), on_activity=steps.on_activity)
    known = collecting.known(number)
    learnt = sum(map(demonstrations_in, known))
    simulated = steps.generate(config)
    twin = _robot_twin(steps.out, number - 1) if settings.strategy == "diagnose" else None
    card = steps.train(simulated, known, learnt, fitted=twin is not None and twin.is_fitted)
    rate = steps.evaluate(config)
    trials = steps.try_on_robot(config, people)
    robot = rate_json(trials.success) if trials.runlog is not None else NOT_DEPLOYED
    done = Round(
        number=number, config_digest=config.digest, demonstrations=learnt, steps=card.steps,
        parent=card.parent, twin=rate, robot=robot, gate=_gate_json(trials, steps.out),
        verdict="", open_gaps=(), requests=(), collected=0, prepared=False,
        predicted_gain=predicted_gain(steps.out / f"round-{number - 1}"),
        realised_gain=realised_gain(before[-1].robot if before else None, robot),
    )  # fmt: skip
    # The last round prepares no next one; a later call with more rounds does that.
    if _short(done, settings) and not last:
        done = _prepare(steps, people, collecting, done, trials, (*before, done))
    write_json(file, asdict(done))
    return done


def _prepare(
    steps: Steps, people: People, collecting: Collecting, done: Round, trials: TrialsResult, rounds: tuple[Round, ...]
) -> Round:
    """Diagnose the trials, calibrate the twin and collect demonstrations for the next round."""
    settings, report, requests, collected, verdict = steps.settings, None, (), 0, ""
    if settings.strategy == "diagnose" and trials.runlog is not None:
        twin = _robot_twin(steps.out, done.number, trials.runlog)
        assert twin is not None
        diagnose, calibrate = partial(steps.diagnose, runlog=trials.runlog), partial(steps.calibrate, people)
        report = twin.explain(diagnose, calibrate, collecting.seen(done.number), seed=settings.seed)
        verdict = twin.verdict(report)
    if settings.strategy in COLLECTING:
        gains = [(record.predicted_gain, record.realised_gain) for record in rounds]
        requests = collecting.requests(done.number, report, steps.folder, experience=experience_of(gains))
        collected = collecting.run(done.number, requests, on_activity=steps.on_activity)
    return replace(
        done, verdict=verdict,
        open_gaps=tuple(finding.gap for finding in report.open) if report is not None else (),
        requests=tuple({"episodes": request.episodes, "conditions": dict(request.conditions)} for request in requests),
        collected=collected, prepared=True,
    )  # fmt: skip


def _gate_json(trials: TrialsResult, out: Path) -> dict[str, Any]:
    runlog = trials.runlog
    place = "" if runlog is None else str(runlog.relative_to(out) if runlog.is_relative_to(out) else runlog)
    return {"stage": trials.stage, "held_back": list(trials.held_back), "runlog": place}


def _robot_twin(out: Path, last: int, runlog: Path | None = None) -> RobotTwin | None:
    """The twin after round `last` of strategy `diagnose`. runlog: of that round, if it is not recorded yet."""
    trials = []
    for number in range(last + 1):
        folder, log, rates = out / f"round-{number}", runlog, ()
        if runlog is None or number < last:
            done = read_round(folder / "round.json")
            log = out / done.gate["runlog"] if done.gate["runlog"] else None
            rates = [Rate(rate["successes"], rate["trials"]) for rate in (done.twin, done.robot)]
        trials += [Trials(folder, folder / "policy", log, *rates)] if log is not None else []
    return RobotTwin(load_config(out / "round-0" / "config.yaml"), trials) if trials else None


def next_config(config: RunConfig, steps: Steps, people: People) -> RunConfig:
    if steps.settings.strategy == "diagnose" and (twin := _robot_twin(steps.out, steps.number)) is not None:
        seen = Collecting(steps.out, steps.settings, people).seen(steps.number + 1)
        return twin.next_config(seen, seed=steps.settings.seed)
    if steps.settings.strategy == "adr":
        return widened_in(steps.folder, config, on_activity=steps.on_activity)
    return config


def _short(done: Round, settings: LoopConfig) -> bool:
    """Whether the target is missed. Gated, a policy must also be in production to reach it."""
    rate = done.robot["rate"]
    return rate is None or rate < settings.target or (settings.gated and done.gate["stage"] != "production")
