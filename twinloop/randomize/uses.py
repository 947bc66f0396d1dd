"""Uses of a row in other stages: conditions of episodes, truths of rehearsal cells, pictures of the docs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Range = tuple[float, float]


@dataclass(frozen=True)
class Condition:
    """A condition of an episode that a lab would note down.

    Attributes:
        key: e.g. "light".
        word: (value) -> e.g. "dim"; "" for a value that nobody would notice.
    """

    key: str
    word: Callable[[float], str]


@dataclass(frozen=True)
class CellTruth:
    """Values that a rehearsal cell may set for a row. Attributes that are None are those of the row.

    Attributes:
        worst: value, or range that is drawn from in each episode, at magnitude 1 of the row's gap.
        nominal: the same at magnitude 0.
        plausible: range that a cell file may use.
        name: key in a cell file, where the cell has the quantity in another form than the table.
        unit, touches, elements: of that form.
    """

    worst: float | Range
    nominal: float | Range | None = None
    plausible: Range | None = None
    name: str | None = None
    unit: str | None = None
    touches: str | None = None
    elements: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Picture:
    """How the docs show the effect of a row.

    Attributes:
        look: measure or strip of pictures (`dashboard/effects`), instead of the preferred ones of its group and gap.
        scene: scene section of the config.
        given: values of other rows that this row needs to have an effect.
        over: range, instead of the sensible range.
        why: explanation for the docs.
    """

    look: str = ""
    scene: str = ""
    given: Mapping[str, float] = field(default_factory=dict)
    over: Range | None = None
    why: str = ""
