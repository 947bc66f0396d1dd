"""TrainingJob: everything that determines the result of a training. Equal jobs give the same checkpoint."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.layout import CONFIG
from twinloop.durable import digest_file
from twinloop.errors import ConfigError, UsageError, nearest
from twinloop.learn.backbone_weights import backbone_file
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.demonstrations import Demonstrations, load_demonstrations
from twinloop.learn.episode_weights import read_episode_weights, weighted
from twinloop.learn.free_labels import blank_labels
from twinloop.learn.mixture import Mixture, agreed_space, split, weights_of
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.pictures import PictureStore, default_cache, open_pictures
from twinloop.learn.policies import POLICIES
from twinloop.learn.read_labels import read_labels
from twinloop.learn.space import DEFAULT_INPUTS
from twinloop.observe.recording import PREFIX
from twinloop.run.config import load_config


@dataclass(frozen=True)
class TrainingJobConfig:
    """Settings of a training.

    Attributes:
        datasets: their folders.
        mix: weights such as `sim=0.8,real=0.2`; None weights datasets by size.
        inputs: features that the policy reads.
        rate_hz: resample the data to this rate.
        most: largest number of episodes of each dataset. whole: names of datasets that it does not limit.
        weights: file of episode weights that `twinloop value` wrote; None uses all episodes equally.
        every: train on every N-th frame of an episode. None takes those with new images, where cameras are slower than
            the control rate, else all.
        settings: settings of the policy, e.g. {"horizon": 16}.
        as_real: names of simulated datasets whose twin is fitted to the robot. A policy has an input that says whether
            data is real; these datasets have it too, so that the policy does on the robot what it learns from them.
        backbone: checkpoint folder or safetensors file from which the vision backbone starts.
        cache: folder of the image cache. It does not affect the result.
    """

    datasets: tuple[Path, ...]
    policy: str = "mlp"
    mix: str | None = None
    inputs: tuple[str, ...] = DEFAULT_INPUTS
    rate_hz: float | None = None
    most: int | None = None
    whole: tuple[str, ...] = ()
    weights: Path | None = None
    every: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    train: TrainConfig = field(default_factory=TrainConfig)
    seed: int = 0
    cache: Path | None = None
    backbone: Path | None = None
    as_real: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingJob:
    """A training with its data loaded.

    Attributes:
        mixture: training episodes.
        held_out: held-out episodes, None if too few.
        episode_weights: digest of the file of episode weights; empty without one.
    """

    config: TrainingJobConfig
    parts: tuple[Demonstrations, ...]
    weights: tuple[float, ...]
    mixture: Mixture
    held_out: Mixture | None
    parent: Checkpoint | None = None
    episode_weights: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines the result, as JSON. Datasets and the parent checkpoint are given by digest."""
        config: dict[str, Any] = asdict(self.config) | {"datasets": [part.source.digest for part in self.parts]}
        del config["cache"], config["weights"]
        if self.episode_weights:
            config["weights"] = self.episode_weights
        if self.config.backbone is not None:
            config["backbone"] = digest_file(backbone_file(self.config.backbone)).sha256
        # Jobs from before these settings keep their digest.
        for name in ("every", "backbone"):
            if config[name] is None:
                del config[name]
        for name in ("accumulate", "device", "precision", "compile"):
            if config["train"][name] == getattr(TrainConfig, name):
                del config["train"][name]
        for name in ("as_real", "whole"):
            if not config[name]:
                del config[name]
        return config | {"parent": self.parent.card.digest if self.parent else ""}

    @property
    def digest(self) -> str:
        config = self.settings
        content = {"config": config, "parent": config.pop("parent")}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def data(self) -> tuple[dict[str, Any], ...]:
        """The datasets with weights and numbers of held-out episodes, for the card."""
        weighed = {"episode_weights": self.episode_weights} if self.episode_weights else {}
        return tuple(
            asdict(part.source)
            | {"weight": round(weight, 6), "held_out": len(part.lengths) - len(learnt.lengths)}
            | ({"as_real": True} if part.source.path in self.config.as_real else {})
            | weighed
            for part, weight, learnt in zip(self.parts, self.weights, self.mixture.parts, strict=True)
        )


def prepare(config: TrainingJobConfig, parent: Checkpoint | None = None) -> TrainingJob:
    """Verify and load the data; check that it fits together and, for fine-tuning, fits the checkpoint."""
    if len(set(config.datasets)) < len(config.datasets):
        raise UsageError(f"a dataset was given twice: {', '.join(map(str, config.datasets))}")
    parts = tuple(
        load_demonstrations(
            path, config.inputs, rate_hz=config.rate_hz, most=None if path.name in config.whole else config.most
        )
        for path in config.datasets
    )
    parts = _as_real(parts, config.as_real)
    parts, by_attempt, digest = _weighted(config, parts)
    parts = tuple(replace(part, stride=config.every or frame_stride(part)) for part in parts)
    parts = _with_labels(parts, config.settings.get("landmarks"))
    weights = tuple(weights_of([part.source for part in parts], config.mix))
    pairs = [split(part, config.train.held_out, seed=config.seed) for part in parts]
    pictures = _pictures(config, parts)
    training = [learnt for learnt, _ in pairs]
    mixture = Mixture(training, weights, pictures, _of_episodes(training, by_attempt) if digest else None)
    tested = [(held, weight) for (_, held), weight in zip(pairs, weights, strict=True) if len(held.lengths) and weight]
    total = sum(weight for _, weight in tested)
    shares = [weight / total for _, weight in tested]
    held_out = Mixture([held for held, _ in tested], shares, pictures) if tested else None
    if config.train.batch is None:
        batch = POLICIES[config.policy].batch_for(mixture.space)
        config = replace(config, train=replace(config.train, batch=batch))
    return TrainingJob(config, parts, weights, mixture, held_out, parent, digest)


def _as_real(parts: tuple[Demonstrations, ...], names: tuple[str, ...]) -> tuple[Demonstrations, ...]:
    """The parts, those with these names as if they were recorded on the robot."""
    known = [part.source.path for part in parts]
    for name in names:
        if name not in known:
            raise UsageError(f"as_real: no dataset is named {name!r}; {nearest(name, known)}")
    return tuple(replace(part, real=part.real or part.source.path in names) for part in parts)


def _weighted(
    config: TrainingJobConfig, parts: tuple[Demonstrations, ...]
) -> tuple[tuple[Demonstrations, ...], list[dict[int, float]], str]:
    """The episodes that have a weight, attempt -> weight for each dataset, and the digest of the file of weights."""
    if config.weights is None:
        return parts, [], ""
    table = read_episode_weights(config.weights)
    parts, weights = weighted(parts, table, where=str(config.weights))
    pairs = zip(parts, weights, strict=True)
    return parts, [dict(zip(part.attempts.tolist(), values, strict=True)) for part, values in pairs], table.digest


def _of_episodes(parts: list[Demonstrations], by_attempt: list[dict[int, float]]) -> list[np.ndarray]:
    return [
        np.array([weights[attempt] for attempt in part.attempts.tolist()])
        for part, weights in zip(parts, by_attempt, strict=True)
    ]


def frame_stride(part: Demonstrations) -> int:
    """Return the stride at which all images of a simulated dataset are new; 1 if that is unknown."""
    path = part.dataset.path / CONFIG
    names = {feature.name for feature in part.space.pictures}
    if not names or part.real or not path.is_file():
        return 1
    try:
        cameras = load_config(path).cameras
    except ConfigError:  # e.g. written by another version; all frames are valid too
        return 1
    rates = [camera.rate_hz for name, camera in cameras.items() if any(n.startswith(PREFIX + name) for n in names)]
    periods = [part.space.rate_hz / rate for rate in rates]
    return round(max(periods)) if periods and all(period.is_integer() for period in periods) else 1


def _with_labels(parts: tuple[Demonstrations, ...], wanted: str | None) -> tuple[Demonstrations, ...]:
    """Return the parts with free labels of the same landmarks, if they have images and one of them has labels.

    Args:
        wanted: names of the landmarks, with commas; None takes all that the data has.
    """
    images = [feature.name for feature in parts[0].space.pictures]
    if not images or wanted == "":
        return parts
    labels = [read_labels(part) for part in parts]
    landmarks = dict.fromkeys(name for label in labels if label for name in label.landmarks)
    if wanted is not None:
        landmarks = dict.fromkeys(wanted.split(","))
    if not landmarks:
        return parts
    return tuple(
        replace(part, labels=(label or blank_labels(part.frames, (), ())).select(tuple(landmarks), images))
        for part, label in zip(parts, labels, strict=True)
    )


def _pictures(config: TrainingJobConfig, parts: tuple[Demonstrations, ...]) -> PictureStore | None:
    seen = agreed_space(parts).pictures
    if not seen:
        return None
    settings = POLICIES[config.policy].default_settings() | config.settings
    if "image_size" not in settings:
        able = ", ".join(name for name, kind in POLICIES.items() if "image_size" in kind.default_settings())
        raise UsageError(f"{config.policy} does not read images ({seen[0].name}); policies that do: {able}")
    return open_pictures(parts, int(settings["image_size"]), cache=config.cache or default_cache())


def parse_settings(words: list[str], valid: dict[str, Any]) -> dict[str, Any]:
    """Parse words like `width=256`. valid: the policy's settings with their defaults, which give the types."""
    settings = {}
    for word in words:
        name, _, text = word.partition("=")
        if name not in valid:
            raise UsageError(f"--set {word}: unknown setting {name!r}; {nearest(name, valid)}")
        kind = type(valid[name])
        try:
            settings[name] = kind(text)
        except ValueError:
            raise UsageError(f"--set {word}: {kind.__name__} was expected, e.g. {name}={valid[name]}") from None
    return settings
