"""A model file -> a proposed mapping: joints of arm and gripper, tool frame, servos, mount and home."""
