"""Camera pose from films of a real robot: distance of the twin's outline from the film's on held-out frames, in pixels.

    python benchmarks/footage.py --data DIR [--seed 100] [--out benchmarks/results/footage.json] [--page footage.html]

DIR holds `so101_table_cleanup` (two episodes have films of 640 × 480 pixels). The pose is fitted to every other eighth
of each film; the eighths between are held out. Seeds below 100 and the fitted eighths were used to develop the method;
the figure uses seed 100 and the held-out eighths. CPU seconds are those of this process.
"""

import argparse
import json
import time
from pathlib import Path

from twinloop.calibrate.bench import load_bench
from twinloop.calibrate.footage.film_frames import read_footage
from twinloop.calibrate.footage.film_twin import calibrate_films
from twinloop.dashboard.footage import write_footage_page

EXAMPLES = Path(__file__).parents[1] / "examples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "footage.json")
    parser.add_argument("--page", type=Path, help="page with the overlays")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    bench, begin = load_bench(EXAMPLES / "so101_cell.yaml"), time.process_time()
    footage = read_footage(bench, args.data / "so101_table_cleanup", camera="front")

    def show(doing: str, done: int, total: int) -> None:
        print(f"{doing} {done}/{total}", end="\r", flush=True)

    twin = calibrate_films(bench, footage, seed=args.seed, on_progress=show)
    result = {"seed": args.seed, "cpu_s": round(time.process_time() - begin, 1), **twin.to_json()}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    if args.page:
        write_footage_page(twin, args.page)
    held = result["footage"]["alignment_held_out"]
    print(
        f"held out: {held['frames']} frames, error {held['error_px']:.1f} px, 90 % below "
        f"{held['error_90_percent_px']:.1f} px, IoU {held['iou']:.2f}, missed {held['missed']}"
    )
    if args.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
