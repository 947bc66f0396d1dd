"""Space: the inputs and actions of a policy. Datasets with equal spaces can be mixed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.dataset import STATE_FEATURES, Dataset, Header
from twinloop.errors import DatasetError, nearest
from twinloop.observe.history import HISTORY, history_feature
from twinloop.observe.instruction import INSTRUCTION, instruction_feature
from twinloop.observe.recording import ESTIMATE, NEEDED, PREFIX, Feature
from twinloop.twin.legs import LEGGED
from twinloop.twin.wheels import WHEELED

ACTION = "action"
STATE = "observation.state"
DEFAULT_INPUTS = STATE_FEATURES
"""Inputs of a policy for one instruction. `default_inputs` adds the instruction where the data has several."""


@dataclass(frozen=True)
class Space:
    """Inputs and actions of a policy.

    Attributes:
        robot: the robot model.
        rate_hz: control rate.
        inputs, action: features, with order, names and units of all elements.
    """

    robot: str
    rate_hz: float
    inputs: tuple[Feature, ...]
    action: Feature

    @classmethod
    def of(cls, header: Header, inputs: Iterable[str] = DEFAULT_INPUTS) -> "Space":
        """Return the space of a dataset with these features as inputs."""
        named = tuple(inputs)
        known = {feature.name: feature for feature in header.features if feature.name.startswith("observation.")}
        known = with_derived(known, header.robot, named)
        for name in named:
            if name not in known and name.startswith(PREFIX):
                raise DatasetError(
                    f"dataset {header.name!r} has no image {name!r}; its images: {_listed(header.pictures)}. Generate "
                    "it with this camera in `cameras:`, or name other --inputs"
                )
            if name not in known:
                raise DatasetError(f"dataset {header.name!r} has no input {name!r}; {nearest(name, known, most=99)}")
        seen = tuple(_as_read(known[name]) for name in named)
        return cls(header.robot, float(header.fps), seen, _as_read(header.feature(ACTION)))

    @property
    def vectors(self) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.inputs if not feature.is_picture)

    @property
    def sensed(self) -> tuple[str, ...]:
        """Names of the vectors that sensors must provide. An estimate is replaced by the vectors that it needs, and
        an instruction and a history by none."""
        derived = {ESTIMATE: NEEDED, INSTRUCTION: (), HISTORY: ()}
        names = (derived.get(feature.name, (feature.name,)) for feature in self.vectors)
        return tuple(dict.fromkeys(name for several in names for name in several))

    @property
    def tracked_things(self) -> tuple[int, ...]:
        """First columns, in the environment state, of the things whose poses the estimate filters."""
        from twinloop.observe.estimate import things_in_estimate  # imports the physics engine

        return next((things_in_estimate(feature) for feature in self.vectors if feature.name == ESTIMATE), ())

    @property
    def estimates(self) -> bool:
        return any(feature.name == ESTIMATE for feature in self.vectors)

    @property
    def remembered(self) -> tuple[str, ...]:
        """Names of the vectors that the history repeats; none if it is not an input."""
        read = tuple(feature.name for feature in self.vectors)
        return tuple(feature.name for feature in _readings(self.vectors)) if HISTORY in read else ()

    @property
    def joints(self) -> tuple[str, tuple[str, ...]]:
        """(vector, names of its elements) with the joint positions: the estimate if there is one, else the state."""
        for wanted in (ESTIMATE, STATE):
            for feature in self.vectors:
                if feature.name == wanted:
                    return feature.name, feature.names
        return STATE, ()

    @property
    def pictures(self) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.inputs if feature.is_picture)

    def differences(self, other: "Space") -> list[tuple[str, str, str]]:
        """Return (label, ours, theirs) for every difference that makes the two spaces incompatible."""
        rows = [("robot", self.robot, other.robot), ("rate", f"{self.rate_hz:g} Hz", f"{other.rate_hz:g} Hz")]
        theirs = {feature.name: feature for feature in (*other.inputs, other.action)}
        for ours in (*self.inputs, self.action):
            feature = theirs.pop(ours.name, None)
            if feature is None:
                rows.append((ours.name, _size(ours), "missing"))
                continue
            rows.append((f"{ours.name}: size", _size(ours), _size(feature)))
            if ours.name == INSTRUCTION:
                continue  # its elements are hashes and say nothing to a reader
            rows += [
                (f"{ours.name}: kind", ours.dtype, feature.dtype),
                (f"{ours.name}: elements", ", ".join(ours.names), ", ".join(feature.names)),
                (f"{ours.name}: unit", ours.unit, feature.unit),
            ]
        rows += [(name, "missing", _size(feature)) for name, feature in theirs.items()]
        return [row for row in rows if row[1] != row[2]]


def with_derived(features: Mapping[str, Feature], robot: str, inputs: Iterable[str]) -> dict[str, Feature]:
    """The features of a dataset, twin or robot, and the inputs that are computed from them.

    Args:
        inputs: names of a policy's inputs. A history repeats those of them that are vectors of sensors.
    """
    from twinloop.observe.estimate import derived  # imports the physics engine, which reading a card does not need

    known = dict(features)
    estimate = derived(known, robot)
    if estimate is not None:
        known[ESTIMATE] = estimate
    known[INSTRUCTION] = instruction_feature()
    vectors = [known[name] for name in inputs if name in known and not known[name].is_picture]
    if _readings(vectors):
        known[HISTORY] = history_feature(_readings(vectors))
    return known


def _readings(vectors: Iterable[Feature]) -> list[Feature]:
    """Those of the vectors that sensors provide."""
    return [feature for feature in vectors if feature.name not in (ESTIMATE, INSTRUCTION, HISTORY)]


def camera_misfit(space: Space, offered: Iterable[Feature], *, where: str) -> str:
    """Say which cameras of a policy are missing in a cell or on a robot, or have another size; "" if all fit.

    Args:
        offered: features that the cell or robot has.
        where: its name.
    """
    there = {feature.name: feature for feature in offered if feature.is_picture}
    problems = []
    for feature in space.pictures:
        other = there.get(feature.name)
        if other is None:
            problems.append(f"it reads {_described(feature)}, which {where} does not have")
        elif other.shape != feature.shape:
            problems.append(f"it reads {_described(feature)}, but {where} has {_size(other)}")
    if not problems:
        return ""
    return (
        f"Cameras: {'; '.join(problems)}. Cameras of {where}: {_listed(there.values())}. Add the missing cameras with "
        "the same name and size, or train a policy on the cameras that exist (--inputs)."
    )


def _described(feature: Feature) -> str:
    kind = {"video": "RGB", "depth": "depth", "mask": "masks"}[feature.dtype]
    return f"{feature.name} ({_size(feature)}, {kind})"


def _listed(features: Iterable[Feature]) -> str:
    return ", ".join(_described(feature) for feature in features) or "none"


def table_of(differences: Iterable[tuple[str, str, str]], *, here: str, there: str) -> str:
    """Return the differences as a text table with one column per side."""
    rows = [("", here, there), *differences]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"  {label:{widths[0]}}  {ours:{widths[1]}}  {theirs}" for label, ours, theirs in rows)


def _as_read(feature: Feature) -> Feature:
    """Return the feature in single precision. Policies read single precision even if the recording has double."""
    return replace(feature, dtype="float32") if feature.dtype == "float64" else feature


def _size(feature: Feature) -> str:
    return " × ".join(map(str, feature.shape))


def default_inputs(datasets: Iterable[Path]) -> tuple[str, ...]:
    """Inputs of a policy for these datasets: with the instruction if one of them has more than one.

    Datasets that differ only in the words for the same task, e.g. real ones, need no instruction. Robots with legs or
    wheels have inputs of their own: the observations of their environments.
    """
    for path in datasets:
        dataset, texts = Dataset.open(path), set[str]()
        if dataset.header.robot in (*LEGGED, *WHEELED):
            return _mobile_inputs(dataset.header.robot)
        for entry in dataset.entries:
            texts |= set(dataset.episodes(entry, ["task"])["task"].to_pylist())
            if len(texts) > 1:
                return (*DEFAULT_INPUTS, INSTRUCTION)
    return DEFAULT_INPUTS


def _mobile_inputs(robot: str) -> tuple[str, ...]:
    from twinloop.environments import legs, wheels  # they import the physics engine, which reading a card does not need

    return legs.OBSERVATIONS if robot in LEGGED else wheels.OBSERVATIONS
