"""Measure how closely MuJoCo on the CPU and MuJoCo Warp agree, and how fast Warp is without a GPU.

Both engines simulate the embedded cell with the same draws and the same expert, each with its own feedback. Errors are
the largest over all draws so far: of any joint, of the object's position and of a finger's force, first in free motion,
then in contact.

    python benchmarks/engines.py [--episodes 32] [--device cpu] [--json]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable

import numpy as np

from twinloop.curate.judge import judge
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.engine import Engine, EngineConfig, make_engine
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.simulate.warp_support import load_warp, resolve_device, warp_versions

HORIZONS_S = (0.2, 0.4, 1.0, 2.0, 3.0)
ROUNDS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--device")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    device = resolve_device(args.device)
    config, count = embedded_config(), args.episodes
    twin, draws = twin_of(config), config.sampler(seed=0).draw(0, count)

    def run(engine: Engine) -> Episodes:
        expert = Expert(twin, config.expert, width=count, seed=0)
        (episodes,) = rollout(Cell(twin, width=count, engine=engine), iter([draws]), expert, seed=0)
        return episodes

    with tempfile.TemporaryDirectory() as empty:
        load_warp().config.kernel_cache_dir = empty
        by_cpu = make_engine(EngineConfig(), twin.model, width=count)
        by_warp = make_engine(EngineConfig("warp", device), twin.model, width=count)
        everyone = np.arange(count)
        compiling = timed(lambda: (by_warp.reset(everyone), by_warp.forward(everyone), by_warp.step(None, 1)), device)
        ours, theirs = run(by_cpu), run(by_warp)
        steps = ROUNDS * count * twin.substeps
        speeds = [steps / timed(stepped(engine, twin.substeps), device) for engine in (by_cpu, by_warp)]

    verdicts = [judge(episodes, twin, config.curate).reasons for episodes in (ours, theirs)]
    result = {
        "episodes": count,
        "device": warp_versions(device)["warp_device"],
        "errors": [row for horizon in HORIZONS_S if (row := errors(ours, theirs, horizon, twin.control_hz))],
        "same_verdict": sum(a == b for a, b in zip(*verdicts, strict=True)),
        "same_length": int((ours.lengths == theirs.lengths).sum()),
        "compile_s": round(compiling, 1),
        "cpu_steps_per_s": round(speeds[0]),
        "warp_steps_per_s": round(speeds[1]),
    }
    print(json.dumps(result) if args.json else "\n".join(f"{key:20} {value}" for key, value in result.items()))


def timed(work: Callable[[], object], device: str) -> float:
    """CPU seconds if all work is on one core (independent of other load), else wall-clock seconds."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    began = clock()
    work()
    return clock() - began


def stepped(engine: Engine, substeps: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(ROUNDS):
            engine.step(None, substeps)

    engine.step(None, substeps)
    return work


def errors(ours: Episodes, theirs: Episodes, horizon_s: float, control_hz: int) -> dict[str, float]:
    """The largest difference until `horizon` in episodes of at least that length; empty if there is none."""
    ticks = round(horizon_s * control_hz)
    rows = [row for row, many in enumerate(np.minimum(ours.lengths, theirs.lengths)) if many > ticks]
    if not rows:
        return {}

    def worst(channel: str, columns: slice) -> float:
        parts = [
            [run[channel][run.starts[row] : run.starts[row] + ticks + 1, columns] for run in (ours, theirs)]
            for row in rows
        ]
        return max(float(np.abs(a.astype(float) - b).max()) for a, b in parts)

    touched = [ours["contact"][ours.starts[row] : ours.starts[row] + ticks + 1, :2].max() > 1 for row in rows]
    return {
        "horizon_s": horizon_s,
        "episodes": len(rows),
        "gripping": int(np.sum(touched)),
        "joint_rad": worst("position", slice(0, 7)),
        "object_m": worst("environment", slice(0, 3)),
        "finger_n": worst("contact", slice(0, 2)),
    }


if __name__ == "__main__":
    main()
