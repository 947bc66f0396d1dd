"""Language: instructions with slots, and paraphrases that are split into seen and unseen by a fixed rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

UNSEEN_EVERY = 4
"""Every fourth paraphrase is unseen: it is never in training data, unless asked for."""


@dataclass(frozen=True)
class Language:
    """The instructions of a task.

    Attributes:
        templates: paraphrases with slots in braces, e.g. `put the {object} in the drawer`. The first is the canonical
            one. Slots are names of entities and roles; their words are inserted.
    """

    templates: tuple[str, ...]

    @property
    def canonical(self) -> str:
        return self.templates[0]

    @cached_property
    def seen(self) -> tuple[str, ...]:
        return tuple(text for number, text in enumerate(self.templates) if not _is_unseen(number))

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        return tuple(text for number, text in enumerate(self.templates) if _is_unseen(number))

    def choose(self, chance: float) -> str:
        """A seen paraphrase for a number between 0 and 1, an unseen one for a number between 1 and 2."""
        pool = self.seen if chance < 1 else self.unseen
        return pool[min(int(chance % 1 * len(pool)), len(pool) - 1)]


def _is_unseen(number: int) -> bool:
    return number % UNSEEN_EVERY == UNSEEN_EVERY - 1


def filled(template: str, words: Mapping[str, str]) -> str:
    """A template with the words of its slots."""
    return template.format_map(dict(words))
