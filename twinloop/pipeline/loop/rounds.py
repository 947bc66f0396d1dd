"""Rounds: each a folder with everything in it. Killed anywhere, the same command goes on where it was.

round-0/  config.yaml  policy/  evaluation/  runlog/  diagnosis/  plan.json  round.json
round-1/  ...
collected/             demonstrations on the robot, a log for each round that asked for them
registry/              what the gate decided, and on what
banks/                 counterfactuals, by policy
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from twinloop.curate.rates import Rate
from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset
from twinloop.dataset.layout import HEADER
from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.crew import DeployConfig
from twinloop.deploy.robots import robot_named
from twinloop.deploy.session import deploy
from twinloop.diagnose.plan import Plan, planned, real_share
from twinloop.diagnose.report import GapReport, read_report
from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError, UsageError
from twinloop.gate import load_evaluation, write_evaluation
from twinloop.gate.evaluation import rate_json
from twinloop.gate.rules.config import load_rules
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.candidate import candidate_of
from twinloop.pipeline.config import RunConfig, config_from_text
from twinloop.pipeline.counterfactuals import Imagining
from twinloop.pipeline.diagnose import DiagnoseConfig, diagnose
from twinloop.pipeline.evaluate import evaluate, unseen_seed, with_seed
from twinloop.pipeline.generate import generate
from twinloop.pipeline.loop.widening import by_diagnosis, by_itself
from twinloop.pipeline.promote import PromoteConfig, promote

Strategy = Literal["diagnose", "adr", "wide", "blind", "real"]
"""diagnose: ranges and demonstrations by what each diagnosis finds. adr: ranges by automatic domain randomization.
wide: the config's ranges as they are and no real data. blind: those and real data, undiagnosed. real: real data alone.
"""
MOST_BYTES = 1 << 22
BEFORE = -1
"""The round before the first, as far as demonstrations go."""
NOBODY: Mapping[str, Any] = {"successes": 0, "trials": 0, "rate": None, "low": 0.0, "high": 1.0}
"""Of a policy that the gate held back: it was not on the robot."""
COLLECTING = ("diagnose", "adr", "blind", "real")


@dataclass(frozen=True)
class LoopConfig:
    """rounds: after the first, which has no real data. target: success on the robot that is enough. budget: real
    demonstrations in all. trials: episodes on the robot in each round. episodes, steps: of simulation and training.
    gated: what the gate holds back does not act on the robot. judged: episodes in the twin. worlds, imagined:
    counterfactual cells for each gap, and episodes in each."""

    robot: str
    strategy: Strategy = "diagnose"
    rounds: int = 3
    target: float = 0.9
    budget: int = 200
    trials: int = 40
    episodes: int = 2000
    steps: int = 3000
    policy: str = "mlp"
    inputs: tuple[str, ...] = ()
    demonstrator: Literal["human-like", "script"] = "human-like"
    gated: bool = True
    judged: int = 200
    worlds: int = 24
    imagined: int = 16
    seed: int = 1
    workers: int = 2


@dataclass(frozen=True)
class Round:
    """demonstrations: real ones that its policy has learnt from. gate: the stage it reached, and why not further."""

    number: int
    config_digest: str
    demonstrations: int
    twin: Mapping[str, Any]
    robot: Mapping[str, Any]
    gate: Mapping[str, Any]
    verdict: str
    found: tuple[str, ...]
    collected: int


@dataclass(frozen=True)
class LoopResult:
    path: Path
    rounds: tuple[Round, ...]
    reached: bool
    why: str


def run_loop(
    config: RunConfig,
    settings: LoopConfig,
    out: Path,
    *,
    on_step: Callable[[int, str], None] = lambda *_: None,
) -> LoopResult:
    """on_step: told the round and what is being done."""
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    _refuse_another(out, config, settings)
    if not (out / "loop.json").exists():
        _reach(settings.robot)
    rounds: list[Round] = []
    why = f"{settings.rounds} rounds are over"
    for number in range(settings.rounds + 1):
        stage = _Stage(out, settings, number, on_step)
        done = stage.run(config)
        rounds.append(done)
        if done.robot["rate"] is not None and done.robot["rate"] >= settings.target:
            why = f"{done.robot['successes']} of {done.robot['trials']} on the robot is the target"
            break
        if number == settings.rounds:
            break
        config = stage.next_config(config)
    reached = (rounds[-1].robot["rate"] or 0.0) >= settings.target
    result = LoopResult(out, tuple(rounds), reached, why)
    _write(out / "loop.json", {"settings": asdict(settings), "reached": reached, "why": why,
                               "rounds": [asdict(each) for each in rounds]})  # fmt: skip
    return result


def _reach(robot: str) -> None:
    """A name with a typo, or a robot that is switched off, is told before hours of simulation, not after."""
    live = robot_named(robot)
    try:
        live.connect()
    finally:
        live.close()


class _Stage:
    """One round: its folder, and each step of it."""

    def __init__(self, out: Path, settings: LoopConfig, number: int, on_step: Callable[[int, str], None]):
        self.out, self.settings, self.number = out, settings, number
        self.folder = out / f"round-{number}"
        self.say = lambda told: on_step(number, told)
        with storage_errors(self.folder):
            self.folder.mkdir(exist_ok=True)

    def run(self, config: RunConfig) -> Round:
        file = self.folder / "round.json"
        if file.exists():
            return _read_round(file)
        settings = self.settings
        with storage_errors(self.folder):
            replace_file(self.folder / "config.yaml", config.to_yaml().encode(), scratch=self.folder)
        if settings.strategy == "real" and self.number == 0:
            self._collect(None, self._log(BEFORE))
        known = self._known()
        learnt = sum(map(_demonstrations, known))
        simulated = self._generate(config)
        self._train(simulated, known, learnt)
        twin = self._evaluate(config)
        gate = self._gate()
        held_back = settings.gated and bool(gate["held_back"])
        robot = NOBODY if held_back else self._deploy()
        diagnosed = settings.strategy == "diagnose" and _short(robot, settings) and not held_back
        report = self._diagnose(config) if diagnosed else None
        collected = 0
        if settings.strategy in COLLECTING and _short(robot, settings) and self.number < settings.rounds:
            collected = self._collect(report, self._log(self.number))
        found = tuple(finding.gap for finding in report.open) if report is not None else ()
        verdict = report.verdict() if report is not None else ""
        done = Round(self.number, config.digest, learnt, twin, robot, gate, verdict, found, collected)
        _write(file, asdict(done))
        return done

    def next_config(self, config: RunConfig) -> RunConfig:
        if self.settings.strategy == "diagnose":
            report = self.folder / "diagnosis"
            return by_diagnosis(config, read_report(report)) if report.exists() else config
        if self.settings.strategy == "adr":
            file = self.folder / "widened.yaml"
            if not file.exists():
                self.say("widening")
                candidate = candidate_of(self.folder / "policy")
                job = Imagining(config.to_yaml(), str(Path.cwd()), candidate.load, ActingConfig(), 24, 3_000_001)
                told: dict[str, float] = {}
                wider = by_itself(config, job, on_row=told.__setitem__)
                _write(self.folder / "widened.json", told)
                with storage_errors(file):
                    replace_file(file, wider.to_yaml().encode(), scratch=self.folder)
            return config_from_text(file.read_text(encoding="utf-8"), name=str(file), folder=self.folder)
        return config

    def _log(self, number: int) -> Path:
        """Of the demonstrations that were asked for after round `number`."""
        return self.out / "collected" / ("before" if number == BEFORE else f"after-{number}")

    def _known(self) -> tuple[Path, ...]:
        """Logs of earlier rounds alone: what this round collects is the next one's, however often this one is begun."""
        logs = [self._log(number) for number in range(BEFORE, self.number)]
        return tuple(log for log in logs if _demonstrations(log))

    def _generate(self, config: RunConfig) -> tuple[Path, ...]:
        if self.settings.strategy == "real":
            return ()
        self.say("generating")
        config = with_seed(config, self.settings.seed)
        # Only what changed is made again: an earlier round of the same config has the same data.
        out = self.out / "datasets" / f"sim-{config.digest[:12]}"
        generate(config, out, episodes=self.settings.episodes, workers=self.settings.workers)
        return (out,)

    def _train(self, simulated: tuple[Path, ...], real: tuple[Path, ...], learnt: int) -> None:
        from twinloop.learn.lesson import LessonConfig, prepare
        from twinloop.learn.optimise import TrainConfig
        from twinloop.learn.space import DEFAULT_INPUTS
        from twinloop.learn.train import train

        self.say("training")
        settings = self.settings
        share = real_share(learnt)
        mix = f"sim={1 - share:.3f},real={share:.3f}" if simulated and real else None
        lesson = prepare(
            LessonConfig(
                datasets=(*simulated, *real), policy=settings.policy, mix=mix, inputs=settings.inputs or DEFAULT_INPUTS,
                train=TrainConfig(steps=settings.steps), seed=settings.seed,
            )
        )  # fmt: skip
        train(lesson, self.folder / "policy")

    def _evaluate(self, config: RunConfig) -> dict[str, Any]:
        folder = self.folder / "evaluation"
        if not (folder / "evaluation.json").exists():
            self.say("evaluating in the twin")
            candidate = candidate_of(self.folder / "policy")
            config = with_seed(config, unseen_seed(candidate))
            found = evaluate(
                candidate, config, config_name=f"round-{self.number}", episodes=self.settings.judged,
                workers=self.settings.workers,
            )  # fmt: skip
            write_evaluation(found, folder)
        return rate_json(load_evaluation(folder).success)

    def _gate(self) -> dict[str, Any]:
        self.say("asking the gate")
        evaluation = (self.folder / "evaluation",)
        done = promote(
            PromoteConfig(
                str(self.folder / "policy"), self.out / "registry", load_rules(None), to="validated",
                evaluations=evaluation, data=(self.out,), actor="loop",
            )
        )  # fmt: skip
        reasons = [reason for step in done.steps for reason in step.decision.reasons]
        return {"stage": done.reached, "held_back": reasons if done.reached == "candidate" else []}

    def _deploy(self) -> dict[str, Any]:
        self.say(f"on {self.settings.robot}")
        done = deploy(
            {"candidate": self.folder / "policy"}, self.settings.robot, self.folder / "runlog",
            episodes=self.settings.trials, first=10_000 * self.number, config=DeployConfig(seed=self.settings.seed),
            workers=self.settings.workers,
        )  # fmt: skip
        if done.stopped:
            raise UsageError(f"{self.settings.robot}: {done.stopped}; the same command goes on")
        tally = done.tallies[0]
        return rate_json(Rate(tally.success.successes, tally.success.trials))

    def _diagnose(self, config: RunConfig) -> GapReport:
        folder = self.folder / "diagnosis"
        if not (folder / "report.json").exists():
            self.say("diagnosing")
            candidate = candidate_of(self.folder / "policy")
            many = self.settings.imagined
            settings = DiagnoseConfig(worlds=self.settings.worlds, episodes=many, tried=3 * many)
            report = diagnose(
                [self.folder / "runlog"], candidate, config, config_name=f"round-{self.number}",
                cache=self.out / "banks", settings=settings, workers=self.settings.workers,
            )  # fmt: skip
            with storage_errors(folder):
                folder.mkdir(exist_ok=True)
            _write(folder / "report.json", report.to_json())
        return read_report(folder)

    def _collect(self, report: GapReport | None, log: Path) -> int:
        """A part of the budget, under the conditions that a plan names. With real data alone there is a part more, for
        the first policy."""
        settings = self.settings
        many = settings.budget // (settings.rounds + (settings.strategy == "real"))
        if not many:
            return 0
        conditions: Mapping[str, str] = {}
        if report is not None:
            plan = planned(report, robot=settings.robot, budget=many)
            _write(self.folder / "plan.json", plan.to_json())
            conditions = _most_wanted(plan)
        self.say(f"collecting {many} demonstrations")
        usual = CollectConfig()
        wanted = replace(usual, conditions=conditions, imperfection=usual.imperfection if self._imperfect else None)
        collect(
            settings.robot, log, episodes=many, first=5_000 + 1_000 * (self.number + (log != self._log(BEFORE))),
            config=wanted, workers=settings.workers,
        )  # fmt: skip
        return _demonstrations(log)

    @property
    def _imperfect(self) -> bool:
        return self.settings.demonstrator == "human-like"


def _most_wanted(plan: Plan) -> Mapping[str, str]:
    lines = [line for line in plan.lines if line.demonstrations and line.conditions]
    return max(lines, key=lambda line: line.demonstrations).conditions if lines else {}


def _short(robot: Mapping[str, Any], settings: LoopConfig) -> bool:
    return robot["rate"] is None or robot["rate"] < settings.target


def _demonstrations(log: Path) -> int:
    """Good ones, if there is a log."""
    if not (log / HEADER).exists():
        return 0
    return Dataset.open(log).attempts()["verdict"].to_pylist().count(ACCEPTED)


def _write(file: Path, value: Mapping[str, Any]) -> None:
    with storage_errors(file):
        text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
        replace_file(file, text.encode(), scratch=file.parent)


def _read_round(file: Path) -> Round:
    try:
        value = json.loads(read_bounded(file, MOST_BYTES))
        return Round(**value | {"found": tuple(value["found"])})
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptError(
            f"{file}: is no round of a loop ({error!s:.100}); delete it, and the round is told again"
        ) from None


def _refuse_another(out: Path, config: RunConfig, settings: LoopConfig) -> None:
    """A folder holds one loop: another config or other settings would mix their rounds."""
    told = {"config_digest": config.digest, **asdict(settings)}
    for free in ("rounds", "workers"):
        told.pop(free)
    file = out / "settings.json"
    if not file.exists():
        _write(file, told)
        return
    before = json.loads(read_bounded(file, MOST_BYTES))
    now = json.loads(json.dumps(told, default=str))
    changed = [f"{key}: {before.get(key)!r} there, {now[key]!r} given" for key in now if before.get(key) != now[key]]
    if changed:
        raise UsageError(f"{out}: holds another loop ({'; '.join(changed[:3])}); choose another --out")
