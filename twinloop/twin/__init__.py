"""Scene file -> Twin: robot, object, task and sensors, compiled."""
