"""The twin of filmed footage: camera pose, table and light from films of a robot whose joint positions are logged."""
