"""The content of a dataset's folder, for comparison with an undisturbed one."""

from pathlib import Path

from twinloop.dataset import Dataset
from twinloop.durable import digest_file

# The lock names a process; the log and the report contain durations.
OF_THE_SESSION = ("lock", "manifest.jsonl", "runs.jsonl", "report.html")


def files(path: Path) -> dict[str, str]:
    """All files except logs of a session; manifest lines are sorted, because their order is that of commits."""
    result = (file for file in path.rglob("*") if file.is_file() and file.name not in OF_THE_SESSION)
    lines = sorted((path / "manifest.jsonl").read_bytes().splitlines())
    return {
        "manifest.jsonl": repr(lines),
        **{str(file.relative_to(path)): digest_file(file).sha256 for file in result},
    }


def committed_shards_are_whole(path: Path) -> None:
    if (path / "dataset.json").exists():
        for entry in Dataset.open(path).entries:
            for name, file in entry.files.items():
                assert digest_file(path / "shards" / entry.name / name) == file
