"""The instruction as a vector for policies that read no text: its words, hashed into a fixed number of elements.

Two instructions with the same words have the same vector, and paraphrases that share words have similar ones. A word
that training has not seen has a small effect only, because each word is one element of many.
"""

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from twinloop.observe.recording import Feature

INSTRUCTION = "observation.instruction"
SIZE = 64
WORDS = re.compile(r"[a-z0-9]+")


def instruction_feature() -> Feature:
    return Feature(INSTRUCTION, "float32", (SIZE,), tuple(f"hash{number}" for number in range(SIZE)), "1")


def instruction_vectors(texts: Sequence[str]) -> np.ndarray:
    """(n, SIZE) float32. The sign of a word's element is hashed too, so that collisions cancel on average."""
    out = np.zeros((len(texts), SIZE), np.float32)
    for row, text in enumerate(texts):
        for word in WORDS.findall(text.lower()):
            code = crc32(word.encode())
            out[row, code % SIZE] += 1.0 if code & (1 << 31) else -1.0
    return out
