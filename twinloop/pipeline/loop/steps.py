"""The steps of a round. Each writes into its own place in the round's folder and is skipped if that exists."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinloop.calibrate.robot_session import try_calibration
from twinloop.curate.rates import Rate
from twinloop.deploy.gated_trials import TrialsConfig, TrialsResult, deploy_trials, gated_trials, success_in
from twinloop.deploy.questions import People
from twinloop.deploy.robots import Workplace
from twinloop.diagnose.plan import make_plan
from twinloop.diagnose.report import GapReport, read_report
from twinloop.durable import storage_errors
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate import load_evaluation, write_evaluation
from twinloop.gate.evaluate import evaluate, unseen_seed
from twinloop.gate.evaluation import rate_json
from twinloop.gate.rules.config import load_rules
from twinloop.learn import real_share
from twinloop.learn.candidate import candidate_of
from twinloop.learn.card import Card, read_card
from twinloop.pipeline.diagnose import DiagnoseConfig, diagnose
from twinloop.pipeline.generate import generate
from twinloop.pipeline.loop.record import Round, read_round, write_json
from twinloop.pipeline.loop.settings import LoopConfig
from twinloop.run.config import RunConfig, load_config
from twinloop.twin.objects import OBJECTS

TUNING_RATE = 1e-3
"""Higher than the default of fine-tuning: ranges may move far between rounds. Half of it learned less per step."""
SCENES_PER_ROUND = 10_000
LATER_SEED = 500
"""Added to the seed of the first round's simulated data in later rounds."""
LONGER_TUNING = 2
"""Factor on the fine-tuning steps after a round that missed the target in the twin too."""


class Steps:
    """The steps of round `number` of the loop in `out`.

    Args:
        executor: where episodes are simulated.
        place: the robot and its task; by default the robot that the settings name, with pick_and_place.
    """

    def __init__(
        self, out: Path, settings: LoopConfig, number: int, on_activity: Callable[[str], None],
        executor: Executor = LOCAL, place: Workplace | None = None,
    ):  # fmt: skip
        self.place = place or Workplace(settings.robot)
        self.out, self.settings, self.number, self.on_activity = out, settings, number, on_activity
        self.executor = executor
        self.folder = out / f"round-{number}"
        self.policy, self.calibration = self.folder / "policy", self.folder / "calibration"

    def generate(self, config: RunConfig) -> tuple[Path, ...]:
        """Generate a dataset per object kind, and return it with those of the first round.

        Later rounds have new episodes, also if their ranges are those of the first. So every fine-tuning has as many
        simulated episodes, whatever the strategy. Ranges of rounds in between are not used: they were replaced.
        """
        if self.settings.strategy == "real":
            return ()
        self.on_activity("generating")
        datasets = self._datasets(config)
        for number, (folder, kind) in enumerate(datasets.items()):
            count = self.settings.episodes // len(datasets) + (number < self.settings.episodes % len(datasets))
            generate(kind, folder, episodes=max(count, 1), workers=self.settings.workers, executor=self.executor)
        if self.number:  # data from before a diagnosis too, because it may be wrong
            datasets |= self._datasets(load_config(self.out / "round-0" / "config.yaml"), first=True)
        return tuple(datasets)

    def train(self, simulated: tuple[Path, ...], real: tuple[Path, ...], learnt: int, *, fitted: bool = False) -> Card:
        """Train the first policy, or fine-tune the policy of the previous round.

        Args:
            learnt: number of real demonstrations.
            fitted: the simulated data of this round is that of a twin which is fitted to the robot.
        """
        from twinloop.learn.train import train

        before = self.out / f"round-{self.number - 1}"
        share = real_share(learnt) if simulated and real else float(not simulated)
        if self.number == 0:
            self.on_activity("training")
            job = self._training_job(simulated, real, share)
        else:
            self.on_activity("fine-tuning")
            job = self._finetuning_job(
                before, simulated, real, share, simulated[: len(simulated) // 2] if fitted else ()
            )
        train(job, self.policy)
        return read_card(self.policy)

    def _training_job(self, simulated: tuple[Path, ...], real: tuple[Path, ...], share: float) -> Any:
        from twinloop.learn.optimise import TrainConfig
        from twinloop.learn.space import DEFAULT_INPUTS
        from twinloop.learn.training_job import TrainingJobConfig, prepare

        settings = self.settings
        mix = f"sim={1 - share:.3f},real={share:.3f}" if simulated and real else None
        return prepare(
            TrainingJobConfig(
                datasets=(*simulated, *real), policy=settings.policy, mix=mix, inputs=settings.inputs or DEFAULT_INPUTS,
                settings=dict(settings.settings), train=TrainConfig(steps=settings.steps), seed=settings.seed,
            )
        )  # fmt: skip

    def _finetuning_job(
        self, before: Path, simulated: tuple[Path, ...], real: tuple[Path, ...], share: float, as_real: tuple[Path, ...]
    ) -> Any:
        from twinloop.learn.finetune import FinetuneConfig, finetuning
        from twinloop.learn.optimise import TrainConfig

        steps = tuning_steps(self.settings, read_round(before / "round.json"))
        return finetuning(
            FinetuneConfig(
                before / "policy", data=real or simulated, keep=simulated if real else (), share=1 - share,
                train=TrainConfig(steps=steps, learning_rate=TUNING_RATE),
                seed=self.settings.seed + self.number, as_real=as_real,
            )
        )  # fmt: skip

    def evaluate(self, config: RunConfig) -> dict[str, Any]:
        """Success rate in the twin over all object kinds."""
        rates = []
        for (name, kind), folder in zip(self._kinds(config).items(), self._evaluations(config), strict=True):
            if not (folder / "evaluation.json").exists():
                self.on_activity(f"evaluating in the twin, with a {name}")
                candidate = candidate_of(self.policy)
                done = evaluate(
                    candidate, kind.with_seed(unseen_seed(candidate)), config_name=f"round-{self.number}/{name}",
                    episodes=self.settings.evaluation_episodes, workers=self.settings.workers, executor=self.executor,
                )  # fmt: skip
                write_evaluation(done, folder)
            rates.append(load_evaluation(folder).success)
        return rate_json(Rate(sum(rate.successes for rate in rates), sum(rate.trials for rate in rates)))

    def try_on_robot(self, config: RunConfig, people: People) -> TrialsResult:
        """Let the policy act on the robot, as far as the gate allows. Ungated, it acts on a simulated robot at once."""
        trials = self._trials()
        if self.settings.gated:
            return gated_trials(
                self.policy, self._evaluations(config), self.runlog, trials, people,
                round_number=self.number, on_activity=self.on_activity,
            )  # fmt: skip
        self.on_activity(f"running on {trials.name}")
        deploy_trials(self.policy, self.runlog, trials)
        return TrialsResult("candidate", (), self.runlog, success_in(self.runlog, read_card(self.policy).digest))

    def trial_scenes(self, trials: int) -> range:
        """Scenes of the round's trials. Policies of the same place in the schedule have the same scenes."""
        first = SCENES_PER_ROUND * self.settings.collections(self.number)
        return range(first, first + trials)

    @property
    def runlog(self) -> Path:
        return self.folder / "runlog"

    def _trials(self) -> TrialsConfig:
        settings = self.settings
        return TrialsConfig(
            robot=self.place.robot, registry=Path(settings.registry) if settings.registry else self.out / "registry",
            rules=load_rules(Path(settings.rules) if settings.rules else None), task=self.place.task.name,
            episodes=settings.trials, first=self.trial_scenes(settings.trials)[0],
            data=(self.out, self.out / "datasets", self.out / "collected"), seed=settings.seed,
            workers=self.place.workers(settings.workers),
        )  # fmt: skip

    def diagnose(self, config: RunConfig, runlog: Path) -> GapReport:
        """Diagnose in the twin with the config's own object. Differences of other objects belong to the object gap."""
        folder = self.folder / "diagnosis"
        if not (folder / "report.json").exists():
            self.on_activity("diagnosing")
            episodes = self.settings.cell_episodes
            report = diagnose(
                [runlog], candidate_of(self.policy), config, config_name=f"round-{self.number}",
                cache=self.out / "banks", workers=self.settings.workers, executor=self.executor,
                settings=DiagnoseConfig(cells=self.settings.cells, episodes=episodes, check_episodes=3 * episodes),
            )  # fmt: skip
            with storage_errors(folder):
                folder.mkdir(exist_ok=True)
            write_json(folder / "report.json", report.to_json())
        return read_report(folder)

    def calibrate(self, people: People, config: RunConfig, report: GapReport) -> None:
        """Carry out the plan's calibration of the drive. A robot that cannot be calibrated is skipped."""
        if make_plan(report, robot=self.settings.robot).excites:
            people.require_ready(self.number, self._trials().name)
            try_calibration(
                config, self.place.robot, self.calibration, seed=self.settings.seed, on_activity=self.on_activity
            )

    def _datasets(self, config: RunConfig, *, first: bool = False) -> dict[Path, RunConfig]:
        """Folder -> config of the round's simulated data. first: those of the first round."""
        seed = self.settings.seed + (0 if first or not self.number else LATER_SEED)
        kinds = self._kinds(config.with_seed(seed)).values()
        return {self.out / "datasets" / f"sim-{kind.digest[:12]}-{seed}": kind for kind in kinds}

    def _kinds(self, config: RunConfig) -> dict[str, RunConfig]:
        """Name of the first thing's kind -> config with it: those of the settings, or that of the config."""
        if not self.settings.objects:
            things = config.scene.world.things
            return {things[0].object.name if things else config.scene.task.name: config}
        return {
            name: replace(config, scene=replace(config.scene, object=OBJECTS[name])) for name in self.settings.objects
        }

    def _evaluations(self, config: RunConfig) -> tuple[Path, ...]:
        names = ("evaluation", *(f"evaluation-{name}" for name in list(self._kinds(config))[1:]))
        return tuple(self.folder / name for name in names)


def tuning_steps(settings: LoopConfig, before: Round) -> int:
    """More steps if the policy failed in the twin too: that is not a gap but too little training."""
    longer = settings.longer_tuning and (before.twin["rate"] or 0.0) < settings.target
    return settings.finetune_steps * (LONGER_TUNING if longer else 1)
