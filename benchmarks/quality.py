"""Measure how many injected faults the quality checks find, under the right name, and the false-alarm rate.

Each fault is injected into clean recordings, one episode at a time. Clean recordings are simulated, or with `--data`
those of a dataset or of a source that `twinloop ingest` reads. Clean recordings that are rejected count as false
alarms and are left out of the rest.

With `--robots N` the recordings come from the test generator of arms, hands and humanoids with resting joints, N robots
of each kind with eight episodes each, from seeds that were not used to choose limits. The faults are frozen sensors.

    python benchmarks/quality.py [--episodes 60] [--seeds 1] [--data DIR] [--mapping FILE] [--robots N] [--json]
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is not installed

from tests.curate.quality.faults import FAULTS
from tests.curate.quality.good_robots import FIGURE_SEEDS, KINDS, draw_robot, freeze, record, recorded
from twinloop.curate.intervals import wilson
from twinloop.curate.quality import DatasetStatistics, EpisodeStatistics, QualityConfig, RecordedEpisode, judge
from twinloop.dataset import Dataset
from twinloop.dataset.ingest import IngestOptions, ingest, load_mapping, open_source
from twinloop.dataset.review import recorded_episodes

LEAST_ROWS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1, help="how often each fault is injected into each episode")
    parser.add_argument("--data", type=Path, help="a dataset, or a source of real recordings")
    parser.add_argument("--mapping", type=Path)
    parser.add_argument("--robots", type=int, help="generated robots of each kind, instead of recordings")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.robots:
        rates = resting_robots(args.robots)
        print(json.dumps(rates) if args.json else "\n".join(f"{kind}: {rate}" for kind, rate in rates.items()))
        return
    with tempfile.TemporaryDirectory() as scratch:
        results = measured(_recordings(args, Path(scratch))[: args.episodes], args.seeds)
    if args.json:
        print(json.dumps(results))
        return
    clean = results["clean"]
    most = f"at most {100 * clean['high']:.1f} %"
    print(f"clean: {clean['rejected']} of {clean['episodes']} rejected, {most}: {clean['verdicts']}")
    for name, row in results["faults"].items():
        print(
            f"{name:18} {row['check']:18} found {row['found']:3} of {row['tried']:3}, under its name {row['named']:3}"
        )
    print(f"all: found {100 * results['found']:.1f} %, under its name {100 * results['named']:.1f} %")


def measured(clean: list[RecordedEpisode], seeds: int) -> dict:
    config = QualityConfig()
    summaries = [EpisodeStatistics.of(recording) for recording in clean]
    statistics = DatasetStatistics.of(summaries)
    verdicts = {recording.attempt: judge(recording, statistics, config).verdict for recording in clean}
    rejected = [verdict for verdict in verdicts.values() if verdict]
    good = [recording for recording in clean if not verdicts[recording.attempt] and recording.rows >= LEAST_ROWS]
    faults = {}
    for name, (check, fault) in FAULTS.items():
        injected = detected = named = 0
        for seed in range(seeds):
            for recording in good:
                broken = fault(recording, np.random.default_rng([seed, recording.attempt]))
                if broken is None:
                    continue
                others = [summary for summary in summaries if summary.attempt != recording.attempt]
                quality = judge(broken, DatasetStatistics.of([*others, EpisodeStatistics.of(broken)]), config)
                injected += 1
                detected += any(finding.check == check for finding in quality.findings)
                named += quality.verdict == check
        faults[name] = {"check": check, "tried": injected, "found": detected, "named": named}
    injected = sum(row["tried"] for row in faults.values())
    _, high = wilson(len(rejected), len(clean))
    return {
        "clean": {"episodes": len(clean), "rejected": len(rejected), "high": float(high), "verdicts": rejected},
        "faults": faults,
        "found": sum(row["found"] for row in faults.values()) / max(injected, 1),
        "named": sum(row["named"] for row in faults.values()) / max(injected, 1),
    }


def resting_robots(robots: int, *, episodes: int = 8) -> dict[str, dict]:
    """Kind of robot -> counts of false rejections and of found freezes, with 95 % intervals of the rates."""
    rates = {}
    for kind in KINDS:
        counts: Counter = Counter()
        for seed in FIGURE_SEEDS[:robots]:
            good = list(record(draw_robot(kind, seed), episodes))
            summaries = [EpisodeStatistics.of(recorded(episode)) for episode in good]
            statistics = DatasetStatistics.of(summaries)
            for episode in good:
                quality = judge(recorded(episode), statistics, QualityConfig())
                counts["episodes"] += 1
                counts["rejected"] += bool(quality.errors)
                counts["rejected as frozen"] += any(finding.check == "frozen_sensor" for finding in quality.errors)
                for name, whole_state in (("joint", False), ("state", True)):
                    rng = np.random.default_rng([seed, episode.number])
                    frozen = freeze(episode, rng, whole_state=whole_state)
                    if frozen is None:
                        continue
                    broken = recorded(frozen)
                    others = [summary for summary in summaries if summary.attempt != episode.number]
                    among = DatasetStatistics.of([*others, EpisodeStatistics.of(broken)])
                    errors = judge(broken, among, QualityConfig()).errors
                    counts[f"frozen {name}"] += 1
                    counts[f"found {name}"] += any(finding.check == "frozen_sensor" for finding in errors)
        low, high = wilson(counts["rejected"], counts["episodes"])
        rates[kind] = {**counts, "rejected_interval": [float(low), float(high)]}
    return rates


def _recordings(args: argparse.Namespace, scratch: Path) -> list[RecordedEpisode]:
    if args.data is None:
        from twinloop.pipeline.generate import generate
        from twinloop.run.default import embedded_config

        generate(embedded_config(), scratch / "sim", episodes=args.episodes)
        return list(recorded_episodes(Dataset.open(scratch / "sim")))
    if (args.data / "dataset.json").exists():
        return list(recorded_episodes(Dataset.open(args.data)))
    mapping = load_mapping(args.mapping) if args.mapping else None
    source = open_source(args.data, mapping)
    ingest(source, scratch / "real", name="real", label="real", mapping=mapping, options=IngestOptions(pictures="none"))
    return list(recorded_episodes(Dataset.open(scratch / "real")))


if __name__ == "__main__":
    main()
