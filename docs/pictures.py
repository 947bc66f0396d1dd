"""Draw what every row of the table does, from episodes that are really simulated: `make pictures`."""

import argparse
import json
import time
from pathlib import Path

from twinloop.dashboard.effects.looks import range_of
from twinloop.dashboard.effects.picture import picture_of
from twinloop.dashboard.effects.strips import StripRenderer
from twinloop.randomize.table import BY_NAME, TABLE

FOLDER = Path(__file__).parent / "pictures" / "rows"
INDEX = FOLDER / "index.json"


def draw(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else {}
    studio = StripRenderer()
    for name in names:
        begin = time.perf_counter()
        picture = picture_of(BY_NAME[name], studio)
        file = FOLDER / (name + picture.suffix)
        for old in FOLDER.glob(f"{name}.*"):
            old.unlink()
        file.write_bytes(picture.content)
        index[name] = {
            "file": file.name,
            "look": picture.look,
            "range": list(range_of(BY_NAME[name])),
            "clearness": float(f"{picture.clearness:.3g}"),
        }
        took = time.perf_counter() - begin
        print(f"{file.name:36} {picture.look:14} {picture.clearness:8.1f} {len(picture.content):7,} B {took:5.1f} s")
    index = {row.name: index[row.name] for row in TABLE if row.name in index}
    INDEX.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    kept = {entry["file"] for entry in index.values()} | {INDEX.name}
    for stray in FOLDER.iterdir():
        if stray.name not in kept:
            stray.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="only these rows (default: all)")
    draw(parser.parse_args().rows or [row.name for row in TABLE])
