"""From real logs of an SO-101 to data of a fitted twin, and how much nearer the twin comes to episodes it has not seen.

    python examples/so101_patch.py LOGS [--out DIR] [--episodes 16] [--fit-on 12]

LOGS is a LeRobot dataset of a teleoperated SO-101. Every fourth episode is held out. The drive is fitted to the others,
the patch is applied to `so101_pick_and_place.yaml`, and data is generated. Then the held-out episodes are replayed open
loop in the twin that generates data, without and with the patch.
"""

import argparse
from pathlib import Path

import twinloop as tl
from twinloop.calibrate.apply_patch import patched
from twinloop.calibrate.bench import load_bench, logs_of
from twinloop.calibrate.check import Checked, check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.twin_replay import held_in, replay_in_twin

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--out", type=Path, default=Path("datasets/so101-fitted"))
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--fit-on", type=int, default=12, help="number of episodes that are fitted (default 12)")
    args = parser.parse_args()
    bench = load_bench(HERE / "so101_cell.yaml")
    checked = check(bench, logs_of(bench, args.logs))
    held_out = checked.logs[1::4]
    work = tuple(log for place, log in enumerate(checked.logs) if place % 4 != 1)[: args.fit_on]
    patch = calibrate(bench, Checked(work, checked.findings), bench.fit, seed=0).patch
    config = tl.load_config(HERE / "so101_pick_and_place.yaml")
    fitted = patched(config, patch)
    patch.write(args.out.parent / "so101-patch.yaml")
    dataset = tl.generate(fitted, args.out, episodes=args.episodes)
    print(f"{dataset.path}: {args.episodes} episodes with the servos of patch {patch.digest[:12]}")
    held_rad = held_in(bench, patch.values)
    without, with_patch = (replay_in_twin(run, bench, held_out, held_rad=held_rad).errors for run in (config, fitted))
    print(f"open-loop replay of {len(held_out)} held-out episodes, RMSE in % of a joint's range:")
    for joint, error in with_patch.items():
        print(f"  {joint:14} {without[joint].rmse:6.2f} without the patch, {error.rmse:6.2f} with it")


if __name__ == "__main__":
    main()
