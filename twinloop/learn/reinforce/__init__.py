"""learn/reinforce/: environments -> Checkpoint, by trial and error.

    config.py           ReinforceConfig
    recipes.py          the default settings for an algorithm and a kind of robot
    fresh_policy.py     an MlpPolicy for the observations and actions of an environment
    actor_model.py      PolicyModel: an MlpPolicy as an actor of rsl-rl
    policy_env.py       PolicyEnv: environments for rsl-rl; one step is one action chunk of the policy
    ppo.py              PpoTraining: PPO by rsl-rl, with a leash to the policy that it started from
    sac.py              SacTraining: SAC by Stable-Baselines3, with demonstrations in the replay buffer
    distill.py          DistillTraining: a student that sees less imitates a teacher, by rsl-rl
    imitate.py          ImitateTraining: a policy imitates the robot's scripted expert
    widening.py         WideningCurriculum: automatic domain randomization
    training.py         reinforce: the loop: progress, checkpoints, resuming, early stop, TensorBoard

The result is an ordinary checkpoint of an `mlp` policy, so evaluation, gate, deployment and export need nothing new.
"""
