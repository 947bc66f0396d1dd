"""The test of two sets of images: it keeps its level, finds what differs, and its features are stable."""

import numpy as np
import pytest

from twinloop.errors import UsageError
from twinloop.signals.picture_features import FAMILIES, OnnxFeatures, family_slices, picture_features, reduced
from twinloop.signals.two_sample import family_distances, two_sample


def rows(rng: np.random.Generator, episodes: int, *, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Features of episodes whose four rows are strongly correlated."""
    centres = rng.normal(shift, 1, (episodes, 6))
    values = np.repeat(centres, 4, axis=0) + 0.1 * rng.normal(size=(4 * episodes, 6))
    return values, np.repeat(np.arange(episodes), 4)


def test_equal_sets_are_called_different_as_rarely_as_promised():
    rng, wrong = np.random.default_rng(0), 0
    for trial in range(40):
        (ours, first), (theirs, second) = rows(rng, 10), rows(rng, 10)
        wrong += two_sample(ours, theirs, (first, second), seed=trial).differs
    assert wrong <= 6  # 5 % of 40 are 2; more than 6 has a probability below 0.4 %


def test_a_shift_is_found_and_grows_with_its_size():
    rng = np.random.default_rng(1)
    ours, first = rows(rng, 20)
    distances = []
    for shift in (0.5, 1.5, 4.0):
        theirs, second = rows(np.random.default_rng(2), 20, shift=shift)
        test = two_sample(ours, theirs, (first, second), seed=0)
        distances.append(test.mmd)
        assert test.interval[0] <= test.interval[1]
    assert distances == sorted(distances)
    assert test.p_value < 0.01
    assert test.mmd > test.chance
    # Rows of the second set are typical of it.
    assert test.witness[1].mean() > test.witness[0].mean()


def test_one_episode_gives_no_p_value():
    ours, first = rows(np.random.default_rng(0), 5)
    theirs, second = rows(np.random.default_rng(1), 1)
    assert np.isnan(two_sample(ours, theirs, (first, second), seed=0).p_value)


def scene(rng: np.random.Generator) -> np.ndarray:
    return reduced(rng.integers(0, 255, (12, 12, 3), np.uint8), 96, 96)


@pytest.mark.parametrize(
    ("family", "change"),
    [("colour", lambda image: image * [1.4, 1.0, 0.6]), ("contrast", lambda image: 60 + 0.5 * image),
     ("texture", lambda image: image + 40 * (np.indices((96, 96)).sum(axis=0) % 2)[..., None])],
)  # fmt: skip
def test_a_change_shows_most_in_its_family(family: str, change):
    rng = np.random.default_rng(0)
    images = [scene(rng) for _ in range(12)]
    ours = np.stack([picture_features(image) for image in images])
    theirs = np.stack([picture_features(np.clip(change(image), 0, 255)) for image in images])
    gaps = family_distances(ours, theirs, family_slices())
    assert set(gaps) == set(FAMILIES)
    assert gaps[family] >= 0.9 * max(gaps.values())


def test_features_do_not_depend_on_the_size_of_an_image():
    small = scene(np.random.default_rng(3)).astype(np.uint8)
    large = small.repeat(3, axis=0).repeat(3, axis=1)
    np.testing.assert_allclose(picture_features(large), picture_features(small), atol=1e-4)
    assert picture_features(small).shape == (family_slices()["texture"].stop,)


def test_a_backbone_that_is_missing_or_not_a_model_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(UsageError, match="no such file"):
        OnnxFeatures(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(UsageError, match="not a model"):
        OnnxFeatures(tmp_path / "text.onnx")
