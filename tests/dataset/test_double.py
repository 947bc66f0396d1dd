"""Numbers recorded in double precision stay so, through shards, export and training."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.dataset.synthetic import CONFIG_TEXT, header
from twinloop.dataset import Dataset, DatasetWriter, verify, write_shard
from twinloop.learn.space import Space
from twinloop.observe.recording import Feature, Recording

DOUBLES = (Feature("observation.state", "float64", (3,)), Feature("action", "float64", (1,)))


def test_doubles_keep_every_bit(tmp_path: Path):
    rng = np.random.default_rng(0)
    frames = {"observation.state": rng.normal(size=(20, 3)), "action": rng.normal(size=20) * 1e12}
    head = header(features=DOUBLES, episodes=1, shard_episodes=1)
    recording = Recording(np.array([0]), np.array([20]), ("lift",), DOUBLES, frames)
    columns = {"attempt": [0], "task": ["lift"], "length": [20], "verdict": ["accepted"], "success": [True]}
    with DatasetWriter.open(tmp_path / "out", head, CONFIG_TEXT) as writer:
        writer.commit(write_shard(writer.scratch("one"), 0, 1, recording, columns, fps=50))
        writer.finish()
    stored = Dataset.open(tmp_path / "out").episode(0)
    assert np.array_equal(stored["observation.state"], frames["observation.state"])
    assert np.array_equal(stored["action"], frames["action"])
    exported = pq.read_table(tmp_path / "out/data/chunk-000/file-000.parquet")
    assert exported["action"].to_pylist() == frames["action"].tolist()
    assert verify(tmp_path / "out").require().exported
    space = Space.of(head, ("observation.state",))
    assert [feature.dtype for feature in (*space.inputs, space.action)] == ["float32", "float32"]
