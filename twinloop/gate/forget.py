"""Forget a participant: remove their episodes from all datasets, and list the checkpoints trained on them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from twinloop.dataset.layout import HEADER
from twinloop.dataset.people.forget import Forgotten, forget_in
from twinloop.dataset.people.pseudonym import check_pseudonym
from twinloop.dataset.people.tombstones import past_digests, read_tombstones
from twinloop.dataset.people.without import interrupted
from twinloop.dataset.reader import Dataset
from twinloop.durable import storage_errors
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.card import CARD, REINFORCEMENT, Card, read_card

NOT_OURS = {".git", ".venv", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Learner:
    """A checkpoint that was, or may have been, trained on the participant's episodes. because: the reason in words."""

    path: Path
    digest: str
    because: str


@dataclass(frozen=True)
class Forgetting:
    """The result of forgetting a participant.

    Attributes:
        datasets: datasets that contain or contained episodes of the participant.
        looked_at: number of datasets that were searched.
        learners: checkpoints trained on these datasets, and those fine-tuned or exported from them.
        unclear: checkpoints trained on real data that is not among the searched datasets.
        cached: number of the participant's images that were removed from the cache.
    """

    datasets: tuple[Forgotten, ...]
    looked_at: int
    learners: tuple[Learner, ...]
    unclear: tuple[Learner, ...]
    cached: int

    @property
    def episodes(self) -> int:
        return sum(dataset.episodes for dataset in self.datasets)


def forget(
    participant: str,
    datasets: Sequence[Path],
    checkpoints: Sequence[Path],
    *,
    cache: Path,
    dry_run: bool = False,
    today: date | None = None,
) -> Forgetting:
    """Forget a participant.

    Args:
        datasets, checkpoints: folders that are searched, with all their subfolders.
        cache: folder of cached images.
        dry_run: report what would be removed, and remove nothing.
    """
    from twinloop.learn.pictures import forget_pictures

    check_pseudonym(participant)
    for folder in (*datasets, *checkpoints):
        if not folder.is_dir():
            raise UsageError(f"{folder}: is not a folder; give folders with datasets or checkpoints")
    paths = list(_datasets(datasets))
    done = [forget_in(path, participant, today=today, dry_run=dry_run) for path in paths]
    digests = {digest for dataset in done for digest in dataset.digests}
    cards = list(_cards(checkpoints))
    learners = _learners(cards, digests)
    named = {learner.digest for learner in learners}
    learners += _exported(checkpoints, named)
    videos = {video for dataset in done for video in dataset.videos}
    return Forgetting(
        datasets=tuple(dataset for dataset in done if dataset.episodes or dataset.digests),
        looked_at=len(done),
        learners=tuple(learners),
        unclear=tuple(_unclear(cards, named, _known(paths) | digests)),
        cached=0 if dry_run else forget_pictures(videos, cache=cache),
    )


def _walk(folders: Iterable[Path]) -> Iterator[tuple[Path, list[str], list[str]]]:
    seen = set()
    for root in folders:
        for parent, inside, files in os.walk(root.resolve()):
            inside[:] = sorted(name for name in inside if name not in NOT_OURS)
            if parent not in seen:
                seen.add(parent)
                yield Path(parent), inside, files


def _datasets(folders: Iterable[Path]) -> Iterator[Path]:
    paths = set()
    for folder, inside, files in _walk(folders):
        path = interrupted(folder) or (folder if HEADER in files else None)
        if path is not None:
            inside.clear()
            paths.add(path)
    return iter(sorted(paths))


def _known(paths: Iterable[Path]) -> set[str]:
    """All present and former digests of these datasets."""
    digests = set()
    for path in paths:
        dataset = Dataset.open(path)
        digests |= {digest for digest, _ in past_digests(dataset.header, dataset.entries)}
        digests |= {past.digest for past in read_tombstones(path).former}
    return digests


def _cards(folders: Iterable[Path]) -> Iterator[tuple[Path, Card]]:
    """Yield every checkpoint's folder and card. A damaged card raises, because its training data is unknown."""
    for folder, inside, files in _walk(folders):
        if HEADER in files:
            inside.clear()
        elif CARD in files:
            try:
                yield folder, read_card(folder)
            except CheckpointError as error:
                raise CheckpointError(f"{error}; its training data is unknown: repair or remove it") from None


def _learners(cards: Sequence[tuple[Path, Card]], held: set[str]) -> list[Learner]:
    named: dict[str, Learner] = {}
    for path, card in cards:
        names = [str(source.get("name")) for source in card.data if source.get("digest") in held]
        if names:
            named[card.digest] = Learner(path, card.digest, f"trained on {', '.join(names)}")
    grew = True
    while grew:  # children of children
        children = [(path, card) for path, card in cards if card.parent in named and card.digest not in named]
        for path, card in children:
            named[card.digest] = Learner(path, card.digest, f"fine-tuned from {named[card.parent].path}")
        grew = bool(children)
    return list(named.values())


def _exported(folders: Iterable[Path], digests: set[str]) -> list[Learner]:
    """ONNX files that were exported from these checkpoints. Their metadata contains the card's digest."""
    exported = []
    for folder, _, files in _walk(folders if digests else ()):
        for name in sorted(files):
            if name.endswith(".onnx"):
                with storage_errors(folder / name):
                    content = (folder / name).read_bytes()
                exported += [
                    Learner(folder / name, digest, "exported from it")
                    for digest in digests
                    if digest.encode() in content
                ]
    return exported


def _unclear(cards: Sequence[tuple[Path, Card]], named: set[str], known: set[str]) -> Iterator[Learner]:
    for path, card in cards:
        missing = [
            str(source.get("name"))
            for source in card.data
            if source.get("kind") not in ("sim", REINFORCEMENT) and source.get("digest") not in known
        ]
        if missing and card.digest not in named:
            yield Learner(
                path, card.digest, f"trained on {', '.join(missing)}, which was not found in the given folders"
            )
