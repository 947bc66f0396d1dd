# Optional (part of pybullet), and without type annotations.
