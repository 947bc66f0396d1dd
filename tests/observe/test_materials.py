import numpy as np

from twinloop.observe.materials import FAMILIES, material

PLAIN = (0.5, 0.25, 1.0)


def test_a_material_is_a_function_of_index_and_surface():
    one, again = (material(7, "table", 64, PLAIN) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert (one != material(8, "table", 64, PLAIN)).any()
    assert (one != material(7, "floor", 64, PLAIN)).any()


def test_material_zero_is_the_cells_own_colour():
    assert {tuple(pixel) for pixel in material(0, "table", 16, PLAIN).reshape(-1, 3)} == {(128, 64, 255)}


def test_a_pool_holds_different_things():
    pool = [material(index, "table", 32, PLAIN) for index in range(1, 61)]
    assert len({picture.tobytes() for picture in pool}) == 60
    assert len({material(index, "wall", 16, PLAIN).std() > 1 for index in range(1, 1 + len(FAMILIES))}) >= 1
    assert np.std([picture.mean() for picture in pool]) > 15
