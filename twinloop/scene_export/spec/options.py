"""Copy the engine's records of options, visual settings and statistics."""

import numpy as np


def record_fields(record: object) -> list[str]:
    return [name for name in dir(record) if not name.startswith("_") and not callable(getattr(record, name))]


def copy_record(source: object, target: object) -> None:
    """Copy every number and array of a record of the engine."""
    for name in record_fields(source):
        if name == "meaninertia":
            continue  # deprecated: it has no effect, and setting it prints a warning
        value = getattr(source, name)
        if isinstance(value, np.ndarray):
            # MuJoCo 4.0 gives two colours of the viewer (`bv`, `bvactive`) as empty arrays.
            getattr(target, name)[: len(value)] = value
        else:
            setattr(target, name, value)
