"""Where things are in a dataset's folder.

dataset.json      the header                     config.yaml   the config the run was made from
manifest.jsonl    a line a committed shard       shards/       a folder a committed shard
meta/ data/ videos/  the LeRobot v3.0 export     export.json   what the export was made from, its files
scratch/          unfinished work                lock          held by the writer
forgotten.json    whose episodes were removed, as hashes, and what the dataset's digest was before
"""

HEADER = "dataset.json"
CONFIG = "config.yaml"
MANIFEST = "manifest.jsonl"
SHARDS = "shards"
SCRATCH = "scratch"
LOCK = "lock"
EXPORT = "export.json"
FORGOTTEN = "forgotten.json"

# Swapped in from the first to the last: LeRobot opens a dataset by its meta, so that comes once all is there.
EXPORT_FOLDERS = ("videos", "data", "meta")
