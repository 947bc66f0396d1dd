"""A curator on real teleoperation: good recordings stay, recordings that broke off and injected faults are found."""

from pathlib import Path

import numpy as np

from tests.shared_data import shared_data
from twinloop.curate.discriminator.training import injected
from twinloop.dataset import Dataset
from twinloop.dataset.curation import curate_dataset, read_accepted
from twinloop.dataset.ingest import IngestOptions, ingest, open_source

KINDS = ("shifted_actions", "swapped_joints", "flipped_sign", "sensor_bias", "degrees_for_radians")


def test_good_recordings_are_kept_and_faulty_ones_found(tmp_path: Path):
    source = shared_data("so101_table_cleanup")
    ingest(open_source(source, None), tmp_path / "real", name="so101", label="so101",
           options=IngestOptions(pictures="none"))  # fmt: skip
    dataset = Dataset.open(tmp_path / "real")
    curation = curate_dataset(dataset, seed=0, images=False)
    episodes, accepted = read_accepted(dataset, images=False)
    assert curation.rejected.sum() == 0, [curation.scores.reasons[row] for row in np.flatnonzero(curation.rejected)]
    assert curation.scores.rejected[~accepted].all(), "two recordings have three rows"
    faulty = injected(episodes.take(accepted), KINDS, count=4, rng=np.random.default_rng(1), sizes=(1, 2))
    for (kind, size), broken in faulty.items():
        assert curation.curator.score(broken, duplicates=False).rejected.mean() >= 0.75, (kind, size)
