"""Store: a registry's own copies of checkpoints and evaluations, in folders named by digest.

Each read first compares the content with the digest in the name. An altered file is refused.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import FileDigest, copy_file, digest_file, storage_errors, sync_folder
from twinloop.errors import CheckpointError, CorruptError, RegistryError
from twinloop.gate.evaluation import EPISODES, EVALUATION
from twinloop.learn.card import CARD, Card, read_card

CHECKPOINTS, EVIDENCE = "checkpoints", "evidence"
DIGEST = re.compile(r"[0-9a-f]{64}")
SHORTEST_PREFIX = 6


@dataclass(frozen=True)
class Pinned:
    """A checkpoint whose files have just been verified against its digests."""

    path: Path
    card: Card

    @property
    def digest(self) -> str:
        return self.card.digest


def is_digest(name: str) -> bool:
    return DIGEST.fullmatch(name) is not None


def checked(name: str) -> str:
    """Return `name` if it is a digest, or raise RegistryError. Used before a digest becomes part of a path."""
    if not isinstance(name, str) or not is_digest(name):
        raise RegistryError(f"{name!r:.80}: is not a digest; 64 hexadecimal digits were expected")
    return name


def look_at(folder: Path) -> Pinned:
    """Read the card of the checkpoint in a folder and verify its weights file. Torch is not needed."""
    card = read_card(folder)
    weights = folder / card.file
    if not weights.is_file():
        raise CheckpointError(f"{weights}: is missing, but the card names it")
    with storage_errors(weights):
        digest = digest_file(weights)
    if digest != card.weights:
        raise CheckpointError(f"{weights}: does not match its card (sha256 {digest.sha256[:12]}...)")
    return Pinned(folder, card)


def pin_checkpoint(registry: Path, folder: Path, *, scratch: Path) -> Pinned:
    """Copy a checkpoint into the registry. After a kill the copy is either complete or absent."""
    given = look_at(folder)
    target = registry / CHECKPOINTS / given.digest
    if not target.exists():
        files = {given.card.file: given.card.weights, CARD: digest_file(folder / CARD)}
        _install(target, folder, files, scratch=scratch)
    return pinned(registry, given.digest)


def pinned(registry: Path, digest: str) -> Pinned:
    folder = registry / CHECKPOINTS / checked(digest)
    if not folder.is_dir():
        raise RegistryError(f"{registry}: has no checkpoint {digest[:12]}...; `twinloop status` lists its checkpoints")
    checkpoint = look_at(folder)
    if checkpoint.digest != digest:
        raise RegistryError(f"{folder}: contains checkpoint {checkpoint.digest[:12]}..., not the one it is named after")
    return checkpoint


def pin_evaluation(registry: Path, folder: Path, *, scratch: Path) -> tuple[str, Path]:
    """Copy the two files of an evaluation into the registry and return (digest, path) of the copy."""
    with storage_errors(folder):
        files = {name: digest_file(folder / name) for name in (EPISODES, EVALUATION)}
    digest = files[EVALUATION].sha256
    target = registry / EVIDENCE / digest
    if not target.exists():
        _install(target, folder, files, scratch=scratch)
    return digest, pinned_evaluation(registry, digest)


def pinned_evaluation(registry: Path, digest: str) -> Path:
    """Return the folder of the copy after verifying its JSON file. The JSON file names the digest of the rows."""
    folder = registry / EVIDENCE / checked(digest)
    path = folder / EVALUATION
    if not path.is_file():
        raise RegistryError(f"{folder}: is missing, but the ledger names it")
    if digest_file(path).sha256 != digest:
        raise CorruptError(f"{path}: was altered after it was used as evidence")
    return folder


def digests_of(registry: Path) -> tuple[str, ...]:
    folder = registry / CHECKPOINTS
    return tuple(sorted(path.name for path in folder.iterdir() if is_digest(path.name))) if folder.is_dir() else ()


def is_prefix(name: str) -> bool:
    """Whether a word can be the first digits of a digest."""
    return re.fullmatch(f"[0-9a-f]{{{SHORTEST_PREFIX},64}}", name) is not None


def named(registry: Path, name: str) -> str:
    """Return the digest of the one checkpoint in the registry that begins with `name`."""
    known = digests_of(registry)
    fits = [digest for digest in known if digest.startswith(name)]
    if not is_prefix(name) or len(fits) != 1:
        listed = ", ".join(digest[:12] for digest in (fits or known)[:8]) or "none"
        problem = "matches several checkpoints" if len(fits) > 1 else "matches no checkpoint"
        raise RegistryError(
            f"{registry}: {name!r:.80} {problem}; give at least {SHORTEST_PREFIX} digits of one of: {listed}"
        )
    return fits[0]


def _install(target: Path, source: Path, files: dict[str, FileDigest], *, scratch: Path) -> None:
    draft = scratch / target.name
    with storage_errors(target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, digest in files.items():
            copy_file(source / name, draft / name, digest)
        sync_folder(draft)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(draft, target)
        sync_folder(target.parent)
        sync_folder(target.parent.parent)


def read_json(path: Path, most_bytes: int) -> dict:
    """Read a JSON mapping that the registry wrote, or raise RegistryError."""
    with storage_errors(path):
        if path.stat().st_size > most_bytes:
            raise RegistryError(f"{path}: has more than {most_bytes:,} bytes; the file was altered")
        text = path.read_bytes()
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{path}: is not JSON ({error!s:.100})") from None
    if not isinstance(values, dict):
        raise RegistryError(f"{path}: holds a {type(values).__name__}; a mapping was expected")
    return values
