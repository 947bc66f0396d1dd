"""How often a fault is injected: a few times in `make test`, the documented number in `make faults`."""

import os
import random


def times(few: int, full: int) -> int:
    """TWINLOOP_FAULTS: `full`, or a number of times for every test; `few` where it is not set."""
    requested = os.environ.get("TWINLOOP_FAULTS", "")
    return full if requested == "full" else int(requested) if requested else few


def fresh_rng() -> random.Random:
    """A generator with a new seed, which is printed; TWINLOOP_SEED repeats it."""
    seed = int(os.environ.get("TWINLOOP_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"TWINLOOP_SEED={seed}")
    return random.Random(seed)
