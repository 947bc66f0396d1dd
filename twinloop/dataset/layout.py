"""Files and folders of a dataset.

dataset.json         the header                        config.yaml   the config of the run
manifest.jsonl       one line per committed shard      shards/       one folder per committed shard
meta/ data/ videos/  the LeRobot v3.0 export           export.json   digest of the exported dataset, and its files
scratch/             unfinished work                   lock          held by the writer
forgotten.json       hashes of removed participants, and former digests of the dataset
"""

HEADER = "dataset.json"
CONFIG = "config.yaml"
MANIFEST = "manifest.jsonl"
SHARDS = "shards"
SCRATCH = "scratch"
LOCK = "lock"
EXPORT = "export.json"
FORGOTTEN = "forgotten.json"

# In order of installation. LeRobot opens a dataset by its meta/, so meta/ is installed last.
EXPORT_FOLDERS = ("videos", "data", "meta")
