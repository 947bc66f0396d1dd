"""The instruction as a vector for policies that read no text: its words and its runs of two and three words, hashed
into a fixed number of elements.

Without runs, "put the red cube into the blue bin" and "put the blue cube into the red bin" have the same vector.
Paraphrases that share words have similar vectors. A word that training has not seen has a small effect only, because
each word is one element of many.
"""

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from twinloop.observe.recording import Feature

INSTRUCTION = "observation.instruction"
SIZE = 256
RUNS = (1, 2, 3)
"""Numbers of words that are hashed together."""
WORDS = re.compile(r"[a-z0-9]+")


def instruction_feature() -> Feature:
    return Feature(INSTRUCTION, "float32", (SIZE,), tuple(f"hash{number}" for number in range(SIZE)), "1")


def instruction_vectors(texts: Sequence[str]) -> np.ndarray:
    """(n, SIZE) float32. The sign of an element is hashed too, so that collisions cancel on average."""
    out = np.zeros((len(texts), SIZE), np.float32)
    for row, text in enumerate(texts):
        words = WORDS.findall(text.lower())
        runs = (words[start : start + size] for size in RUNS for start in range(len(words) + 1 - size))
        for run in runs:
            code = crc32(" ".join(run).encode())
            out[row, code % SIZE] += 1.0 if code & (1 << 31) else -1.0
    return out
