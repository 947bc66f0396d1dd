"""Write a Rerun recording of one stored episode: cameras, depth, masks, boxes and keypoints, the cell in space, every
signal, the phases and what was drawn, all on one timeline. Needs `pip install 'twinloop[view]'`."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset, count
from twinloop.dataset import Dataset
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop view datasets/cell --episode 0                      # writes cell-episode0.rrd
  twinloop view datasets/cell --episode 3 --out look.rrd --open
  twinloop view datasets/cell --attempt 17                     # by its index in the run, as in `twinloop episode`
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--episode", type=count(0), metavar="K", help="index among the stored episodes, from 0")
    which.add_argument("--attempt", type=count(0), metavar="I", help="index in the run, including rejected episodes")
    parser.add_argument("--out", type=Path, metavar="RRD", help="file to write (default: DATASET-episodeK.rrd)")
    parser.add_argument("--open", action="store_true", help="open the recording in Rerun's viewer")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    dataset = Dataset.open(args.dataset)
    try:
        import rerun  # noqa: F401
    except ImportError:
        raise UsageError("a recording needs Rerun, which is not installed; run: pip install 'twinloop[view]'") from None
    from twinloop.dashboard.rerun.record import record
    from twinloop.dashboard.rerun.stored_episode import read_stored_episode

    episode = read_stored_episode(dataset, episode_index=args.episode, attempt=args.attempt)
    out = args.out or Path(f"{dataset.path.resolve().name}-episode{episode.episode_index}.rrd")
    recorded = record(episode, out)
    console.print(
        f"{out}: episode {episode.episode_index} (attempt {episode.attempt}, {episode.columns['verdict']}), "
        f"{episode.length} frames, {len(recorded.entities)} entities, {recorded.size / 1e6:.1f} MB"
    )
    if episode.note:
        console.print(f"without the 3-D twin: {episode.note}")
    if args.open:
        subprocess.Popen([sys.executable, "-m", "rerun", str(out)], start_new_session=True)
    else:
        console.print(f"open it: rerun {out}")
    return {
        "path": str(out),
        "episode": episode.episode_index,
        "attempt": episode.attempt,
        "verdict": episode.columns["verdict"],
        "frames": episode.length,
        "bytes": recorded.size,
        "entities": list(recorded.entities),
        "note": episode.note,
    }
