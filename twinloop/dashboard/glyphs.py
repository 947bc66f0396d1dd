"""Letters of 3 × 5 pixels, for captions: one octal digit a row, one bit a pixel."""

import numpy as np

ROWS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644",
    "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255",
    "Y": "55222", "Z": "71247", "0": "75557", "1": "26227", "2": "71747", "3": "71317", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", ".": "00002", "-": "00700", "_": "00007", "=": "07070",
    "%": "51245", "+": "02720", "/": "11244", ":": "02020", "#": "57575", ",": "00024", "(": "12221", ")": "42224",
    "°": "25200", "×": "05250", " ": "00000", "·": "00200",
}  # fmt: skip
WIDTH, HEIGHT = 4, 5
UNKNOWN = "77777"


def lettering(text: str, scale: int = 2) -> np.ndarray:
    """(5 scale, 4 scale len(text)) bool: where the letters are."""
    glyphs = [ROWS.get(letter, UNKNOWN) for letter in text.upper()]
    bits = np.zeros((HEIGHT, WIDTH * max(len(glyphs), 1)), bool)
    for place, glyph in enumerate(glyphs):
        for row, digit in enumerate(glyph):
            bits[row, place * WIDTH : place * WIDTH + 3] = [int(digit) & bit for bit in (4, 2, 1)]
    return bits.repeat(scale, axis=0).repeat(scale, axis=1)
