"""Rows of the scene: what is asked for, in which words, and where fixtures stand."""

from twinloop.randomize.parameter import Parameter

SCENE = (
    Parameter("task_choice", "environment", "environment", "1",
              "which entities play the roles of the task, e.g. which cube is asked for",
              0.0, (0.0, 1.0), "all of them, equally often", (0.0, 1.0), realistic=False),
    Parameter("instruction_choice", "environment", "human", "1",
              "which paraphrase the instruction is: 0 to 1 for those of training, 1 to 2 for unseen ones",
              0.0, (0.0, 1.0), "all paraphrases of training, equally often", (0.0, 2.0), realistic=False),
    Parameter("fixture_position_noise_cm", "environment", "environment", "cm", "where fixtures stand on the table",
              0.0, (-1.5, 1.5), "engineering estimate: furniture placed by hand", (-15.0, 15.0), ("x", "y")),
    Parameter("fixture_yaw_deg", "environment", "environment", "°", "how fixtures are turned about the vertical",
              0.0, (-5.0, 5.0), "engineering estimate: furniture placed by hand", (-45.0, 45.0)),
)  # fmt: skip
