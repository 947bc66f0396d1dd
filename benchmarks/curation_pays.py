"""Does curation pay? Success of policies trained on clean, on faulty and on curated data.

In the faulty dataset the recorded actions of one episode in five are wrong: shifted in time, of another speed, clipped,
in degrees, with a wrong sign, or with two joints swapped. The speed is a kind of fault that no curator was trained
against. The curator is trained on this dataset itself, without trusted data. The policies are flow policies: they
learn the distribution of the actions, so they also learn to act like the faulty share. (The `mlp` policy learns the
median action, which one faulty episode in five hardly changes.) All policies have the same steps and are evaluated on
the same held-out draws. Each result is kept, so a stopped run continues.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from curation_faults import UNKNOWN

from twinloop.curate.discriminator.faults import FAULTS
from twinloop.curate.discriminator.trajectories import ACTION, Trajectories, joined
from twinloop.curate.intervals import wilson
from twinloop.dataset import Dataset, DatasetWriter, write_shard
from twinloop.dataset.columns import STATS_PREFIX
from twinloop.dataset.curation import curate_dataset, write_curation
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.trajectories import read_trajectories
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import candidate_of
from twinloop.learn.curation_weights import weights_of_curation
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.space import default_inputs
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.observe.recording import Recording
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text

EPISODES, SHARE, STEPS, BATCH, TRIALS, TRAININGS = 150, 0.2, 1200, 256, 64, (0, 1)
POLICY = {"width": 256, "depth": 2}
CELL = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_mass_kg: [0.05, 0.4], friction_coefficient: [0.4, 1.1], object_position_noise_cm: [-2, 2]}
"""
KINDS = (
    "shifted_actions", "swapped_joints", "flipped_sign", "degrees_for_radians", "clipped_actions", "foreign_actions",
)  # fmt: skip
TRIES = 40
"""A kind that chooses a feature at random is injected again until it changes the actions."""


def measure_gain(work: Path, seed: int) -> dict:
    folder = work / f"pays-{seed}"
    folder.mkdir(exist_ok=True)
    file = folder / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    config = _config(seed)
    generate(config, folder / "clean", episodes=EPISODES, workers=1)
    clean = Dataset.open(folder / "clean")
    faulty_attempts = _spoil(clean, folder / "faulty", np.random.default_rng(seed))
    faulty = Dataset.open(folder / "faulty")
    if "curation" not in results:
        curation = write_curation(curate_dataset(faulty, seed=0), folder / "curation")
        weights_of_curation(curation, path=faulty.path.name).write(folder / "weights.json")
        wrong = np.isin(curation.scores.attempts, faulty_attempts)
        results["curation"] = {
            "faulty": int(wrong.sum()), "found": int((curation.rejected & wrong).sum()),
            "good": int((~wrong).sum()), "lost": int((curation.rejected & ~wrong).sum()),
        }  # fmt: skip
        file.write_text(json.dumps(results, indent=1))
    arms = {"clean": (clean, None), "faulty": (faulty, None), "curated": (faulty, folder / "weights.json")}
    for number in TRAININGS:
        for name, (dataset, weights) in arms.items():
            if f"{name}-{number}" in results:
                continue
            policy = folder / "policies" / f"{name}-{number}"
            job = TrainingJobConfig(
                datasets=(dataset.path,), inputs=default_inputs([dataset.path]), weights=weights, seed=number,
                policy="flow", settings=POLICY, train=TrainConfig(steps=STEPS, batch=BATCH),
            )  # fmt: skip
            train(prepare(job), policy)
            evaluation = evaluate(
                candidate_of(policy), _config(seed + 1000), config_name="held-out", episodes=TRIALS, workers=1
            )
            results[f"{name}-{number}"] = [evaluation.success.successes, evaluation.success.trials]
            file.write_text(json.dumps(results, indent=1))
    totals = {name: np.sum([results[f"{name}-{number}"] for number in TRAININGS], axis=0) for name in arms}
    rates = {name: hits / trials for name, (hits, trials) in totals.items()}
    return {
        **results,
        **{
            name: {"rate": round(rates[name], 4), "interval": [round(float(end), 4) for end in wilson(*totals[name])]}
            for name in arms
        },
        "curated_of_clean": round(rates["curated"] / rates["clean"], 4),
        "faulty_of_clean": round(rates["faulty"] / rates["clean"], 4),
    }


def _config(seed: int) -> RunConfig:
    return config_from_text(f"{CELL}rollout: {{seed: {seed}}}\n", name="cell.yaml", folder=Path())


def _spoil(clean: Dataset, out: Path, rng: np.random.Generator) -> np.ndarray:
    """Write the dataset again with faults in a share of its episodes. Returns the attempts of those."""
    episodes = joined(list(read_trajectories(clean)))
    chosen = np.sort(rng.choice(len(episodes), round(SHARE * len(episodes)), replace=False))
    spoilt = {}
    for place, row in enumerate(chosen):
        good = episodes.take(np.array([row]))
        spoilt[int(episodes.attempts[row])] = _with_wrong_actions(good, KINDS[place % len(KINDS)], rng)
    header = replace(clean.header, name=out.name)
    with DatasetWriter.open(out, header, clean.config_text()) as writer:
        for first, stop in writer.missing():
            entry = next(entry for entry in clean.entries if entry.first == first)
            writer.commit(_shard(clean, entry, stop, spoilt, writer.scratch(f"{first}")))
        writer.finish()
    return np.array(sorted(spoilt))


def _with_wrong_actions(good: Trajectories, kind: str, rng: np.random.Generator) -> Trajectories:
    inject = FAULTS[kind].inject if kind in FAULTS else UNKNOWN[kind]
    for _ in range(TRIES):
        episode = inject(good, rng, int(rng.integers(1, 3)))
        if episode is not None and not np.array_equal(episode.signals[ACTION], good.signals[ACTION]):
            return episode
    raise RuntimeError(f"{kind} did not change the actions of episode {good.attempts[0]} in {TRIES} tries")


def _shard(clean: Dataset, entry, stop: int, spoilt: dict[int, Trajectories], folder: Path):
    table, rows = clean.frames(entry), clean.episodes(entry)
    lengths = to_numpy(rows["length"])
    attempts = to_numpy(rows["attempt"])
    frames = {feature.name: to_numpy(table[feature.name]).copy() for feature in clean.header.columns}
    starts = np.cumsum(lengths) - lengths
    for attempt, episode in spoilt.items():
        if attempt in attempts:
            at = int(np.flatnonzero(attempts == attempt)[0])
            window = slice(starts[at], starts[at] + lengths[at])
            for name, values in episode.signals.items():
                frames[name][window] = values.reshape(frames[name][window].shape)
    kept = lengths > 0
    recording = Recording(
        attempts=attempts[kept], lengths=lengths[kept],
        tasks=tuple(np.array(rows["task"].to_pylist(), object)[kept]), features=clean.header.columns, frames=frames,
    )  # fmt: skip
    columns = {name: rows[name].combine_chunks() for name in rows.column_names if not name.startswith(STATS_PREFIX)}
    return write_shard(folder, entry.first, stop, recording, columns, fps=clean.header.fps)
