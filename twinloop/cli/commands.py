"""The commands, grouped by the stage of the pipeline they belong to. No imports: `twinloop --help` only reads this."""

GROUPS: dict[str, dict[str, str]] = {
    "Generate data in the twin": {
        "generate": "simulate a config and write a curated LeRobot dataset (the main job)",
        "explain": "print what a config will do: values, varied parameters, episodes, disk space, time",
        "tasks": "list the tasks that a config can name, with their entities and instructions",
        "parameters": "list every parameter that a config may vary",
        "robots": "list the robots that a config can name, with reach, payload, axes and gripper",
        "inspect-robot": "read an MJCF or URDF file and print the mapping that a config needs for it",
        "schema": "write the JSON Schema of a config file, for editors",
        "episode": "simulate one episode of a run again and inspect it",
        "export-scene": "write the cell as a folder for other programs: MuJoCo (MJCF), Isaac Sim (USD), ROS (URDF)",
        "gallery": "write a contact sheet of camera images: draws, labels, or a sweep of one parameter",
    },
    "Inspect and manage datasets": {
        "info": "print what a dataset contains",
        "query": "run SQL over episodes, frames and attempts",
        "report": "write the HTML report of a dataset",
        "view": "write a Rerun recording of a stored episode: cameras, labels, 3-D scene, signals",
        "compare": "compare two datasets: schema, rates, distributions, tracking, delay, noise, images",
        "export-control": "write control videos of an episode (edges, depth, masks, blur) for world models",
        "verify": "recompute every digest and name damaged files",
        "merge": "join datasets that have the same schema",
        "fetch": "copy a dataset from an object store to a local folder, with its LeRobot export",
    },
    "Bring in real data": {
        "ingest": "convert real recordings to a dataset: LeRobot, robomimic, CSV, JSON and NumPy logs",
        "quality": "run the recording checks on a dataset: verdict and evidence for every episode",
        "collect": "record demonstrations on a robot, from teleoperation or a simulated demonstrator",
        "consent": "write the consent of a participant to a file, under a pseudonym",
        "forget": "delete a participant's episodes and list the checkpoints trained on them",
    },
    "Train and evaluate policies": {
        "train": "train a policy on one or more datasets",
        "finetune": "continue training a checkpoint on a small amount of real data",
        "value": "score episodes by how much they help a policy on target data, and write weights for training",
        "evaluate": "roll out a policy in the twin and report success rates with intervals",
        "export": "convert a checkpoint to one ONNX file and check it against torch",
    },
    "Promote, deploy and monitor": {
        "promote": "move a policy to the next stage if the evidence satisfies the rules",
        "status": "print the live policy, since when it is live, and the evidence for it",
        "approve": "record that a person approves the step of a policy to a stage",
        "rollback": "make the previous production policy live again, at once, in the fleet or on one robot",
        "rollout": "bring the live policy to more robots, in waves that stop by themselves",
        "audit": "verify the ledger from its first record and print who decided what, on which evidence",
        "keys": "create keys that sign the ledger, and list, trust and revoke them",
        "deploy": "run a policy on a robot: safety filter, deadlines, e-stop, a log of every episode",
        "monitor": "follow the live policy's episodes and roll back when success drops",
        "trust": "compare success rates in the twin with real ones, with intervals",
    },
    "Close the sim-to-real gap": {
        "diagnose": "estimate which of eight gaps costs a policy success on a robot, and how much",
        "plan": "plan data collection from a diagnosis, in order of gain per hour",
        "calibrate": "fit a twin to logs: values with intervals and ranges, written as a patch",
        "excite": "move a robot so that its log tells most about its drive, and log the motion",
        "replay": "play logged commands in a twin and compare with the measurement",
        "answer": "answer the question of a loop that waits for a person",
        "loop": "repeat generate, train, promote, deploy and diagnose until the robot succeeds",
    },
}

COMMANDS: dict[str, str] = {name: summary for group in GROUPS.values() for name, summary in group.items()}
