"""VectorTwinEnv: many simulated robots as one Gymnasium `VectorEnv`.

    step: action -> command -> physics -> sensors -> rewards -> ends -> fresh episodes in the environments that ended

- Environment e of n runs episodes e, e + n, e + 2n, ... of its seed. An episode depends on its seed, index and actions
  only, so a run is reproducible bit by bit, at any number of threads. So are parts of the n environments that are
  simulated apart (`first`, `total`).
- Autoreset mode SAME_STEP: the step that ends an episode returns the first observation of the next one. The last
  observation of the ended one is in `infos["final_obs"]`, its outcome in `infos["final_info"]`.
- Termination (a termination term, or physics that diverged) and truncation (the time limit) are kept apart.
- `infos["reward_terms"]` has every reward term by itself, weighted. `infos["critic"]` has the critic's observation.
- A term that gives NaN or infinity raises TermError with the names of term, environment and episode.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from twinloop.environments.curriculum import Curriculum, LevelCurriculum
from twinloop.environments.embodiment import Embodiment
from twinloop.environments.observation_groups import ObservationGroups
from twinloop.environments.table import chosen_terms
from twinloop.environments.term import StepState
from twinloop.errors import TermError, UsageError
from twinloop.randomize.draw import Draws
from twinloop.run.environment import EnvironmentConfig

STATE = "observation.state"
StepResult = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]
"""Observations, rewards, terminated, truncated, infos."""
DIVERGED, TIME_LIMIT = "diverged", "time limit"


class VectorTwinEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`robot.width` environments. `tl.make_env` makes one from a config.

    Args:
        first, total: these are the environments from `first` on of `total`; by default all of them.

    Attributes:
        robot: the embodiment.
        groups: features and element names of the observations of policy and critic.
        reward_weights: reward term -> weight.
        episode: (n,) index of the running episode of each environment.
        tick: (n,) control periods since it began.
        commands: (n, a) the last commands, in the units of a dataset's actions.
        longest: control periods of the longest episode.
        curriculum: changes the draws of later episodes; None for none.
    """

    def __init__(
        self, robot: Embodiment, config: EnvironmentConfig, *, seed: int, curriculum: Curriculum | None = None,
        first: int = 0, total: int | None = None,
    ):  # fmt: skip
        self.robot, self.config, self.num_envs = robot, config, robot.width
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP, "render_fps": robot.rate_hz}
        defaults = robot.defaults
        self.reward_weights = dict(config.rewards or defaults.rewards)
        self._rewards = chosen_terms(robot, "reward", tuple(self.reward_weights), key="rewards")
        ends = config.terminations or defaults.terminations
        self._ends = chosen_terms(robot, "termination", ends, key="terminations")
        self.groups = ObservationGroups(
            robot, config.observations or defaults.observations, config.privileged or defaults.privileged
        )
        self.longest = _longest_ticks(robot, config)
        steps = config.curriculum or defaults.curriculum
        if curriculum is None and steps:
            terms = chosen_terms(robot, "curriculum", tuple(steps), key="curriculum")
            curriculum = LevelCurriculum(
                tuple(zip(terms, steps.values(), strict=True)), width=self.num_envs
            )  # fmt: skip
        self.curriculum = curriculum
        self._origin_columns = _origin_columns(robot, self.groups)
        needs = frozenset(part for term in (*self._rewards, *self._ends, *self.groups.terms) for part in term.needs)
        robot.use(self.groups.features, needs)
        size = robot.action.shape[0]
        self.single_action_space = Box(-1.0, 1.0, (size,), np.float32)
        self.single_observation_space = Box(-np.inf, np.inf, (len(self.groups.names),), np.float32)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._all = np.arange(self.num_envs)
        self._first, self._total = first, total or self.num_envs
        self._first_limits = np.full(self.num_envs, self.longest)
        self._seed, self._rounds, self._begun = seed, np.zeros(self.num_envs, np.int64), False
        self.episode, self.tick = self._first + self._all.astype(np.int64), np.zeros(self.num_envs, np.int64)
        self._action = np.zeros((self.num_envs, size), np.float32)
        self._previous, self._last_action = self._action.copy(), self._action.copy()
        self.commands = np.tile((robot.scale.lowest + robot.scale.highest) / 2, (self.num_envs, 1))
        self._actions = np.zeros((2, self.num_envs, self.longest, size), np.float32)  # actions, and commands
        self._drawn = np.zeros((self.num_envs, len(robot.varied)))
        self._policy = np.zeros((self.num_envs, len(self.groups.names)), np.float32)
        self._critic = np.zeros((self.num_envs, len(self.groups.critic_names)), np.float32)
        self._blocks: dict[int, Draws] = {}

    @property
    def layout(self) -> tuple[str, ...]:
        """Name of every element of an observation: feature and element, as datasets name them."""
        return self.groups.names

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def actions(self) -> np.ndarray:
        """(n, a) the last actions, from -1 to 1."""
        return self._last_action

    @property
    def observations(self) -> dict[str, np.ndarray]:
        """The current observations of `policy` and `critic`, (n, elements) each."""
        return {"policy": self._policy, "critic": self._critic}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes everywhere: from index 0 of a seed if one is given, else the next ones of this seed."""
        super().reset(seed=seed)
        if options:
            raise UsageError(f"reset: options {', '.join(map(str, options))} were given; there are none")
        if seed is not None or not self._begun:
            self._seed = self._seed if seed is None else int(seed)
            self._rounds[:] = 0
            self._blocks.clear()
            self.robot.reseed(self._seed)
        self._begun = True
        self._begin(self._all)
        return self._policy.copy(), self._infos()

    def stagger(self) -> None:
        """Limit the first episode of each environment to another length, so that later ones do not begin together.

        Otherwise an iteration of PPO sees the same few moments of all episodes, and the next one sees other moments.
        """
        self._first_limits = 1 + ((self._first + self._all) * self.longest) // self._total

    @property
    def _limits(self) -> np.ndarray:
        """(n,) control periods after which the running episodes are truncated."""
        return np.where(self._rounds == 0, self._first_limits, self.longest)

    def step(self, actions: np.ndarray) -> StepResult:
        """Carry out one action in every environment for one control period."""
        actions = self._checked(actions)
        scale = self.robot.scale
        commands = actions * scale.span.astype(np.float32) + scale.centre.astype(np.float32)
        commands[:, scale.relative] += self._policy[:, self._origin_columns]
        return self._step(None, actions, commands)

    def step_commands(self, commands: np.ndarray, ids: np.ndarray | None = None) -> StepResult:
        """Like `step`, with commands in the units of a dataset's actions.

        Args:
            ids: the environments to step; None for all. The others keep their state, and their results are 0.
        """
        scale = self.robot.scale
        commands = np.asarray(commands, np.float32)
        actions = commands - scale.centre.astype(np.float32)
        actions[:, scale.relative] -= self._policy[:, self._origin_columns]
        return self._step(ids, self._checked(actions / scale.span.astype(np.float32)), commands)

    def _step(self, ids: np.ndarray | None, actions: np.ndarray, commands: np.ndarray) -> StepResult:
        if not self._begun:
            raise UsageError("step: call reset first")
        stepped = self._all if ids is None else ids
        idle = np.ones(self.num_envs, bool)
        idle[stepped] = False
        self._advance(ids, actions, commands)
        step = self._step_state()
        diverged = self.robot.diverged(self.tick) & ~idle
        terms = self._weighted(step, idle | diverged)
        reward = np.sum(list(terms.values()), axis=0) if terms else np.zeros(self.num_envs)
        reasons = self._reasons(step, diverged)
        reasons[idle] = ""
        terminated = reasons != ""
        truncated = ~idle & ~terminated & (self.tick >= self._limits)
        self._look(stepped, step, diverged)
        over = terminated | truncated
        final = self._finish(np.flatnonzero(over), diverged, reasons) if over.any() else {}
        infos = {**self._infos(), "reward_terms": terms, "_reward_terms": ~idle, **final}
        return self._policy.copy(), reward, terminated, truncated, infos

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        actions = np.asarray(actions, np.float32)
        if actions.shape != self._action.shape:
            raise UsageError(f"step: actions have shape {actions.shape}; {self._action.shape} was expected")
        if not np.isfinite(actions).all():
            row, column = np.argwhere(~np.isfinite(actions))[0]
            raise TermError(
                f"action {self.robot.action.names[column]} is {actions[row, column]} in environment {row} "
                f"(episode {self.episode[row]}, step {self.tick[row]})"
            )
        return np.clip(actions, -1, 1)

    def _advance(self, ids: np.ndarray | None, actions: np.ndarray, commands: np.ndarray) -> None:
        """Carry out actions in `ids` (None: all) for one control period."""
        part = self._all if ids is None else ids
        self._actions[0, part, self.tick[part]] = actions[part]
        self._actions[1, part, self.tick[part]] = commands[part]
        self._previous[part], self._action[part] = self._action[part], actions[part]
        self._last_action[part] = actions[part]
        scale = self.robot.scale
        self.commands[part] = np.clip(commands.astype(float), scale.lowest, scale.highest)[part]
        self.robot.step(ids, self.commands)
        self.tick[part] += 1

    def _step_state(self) -> StepState:
        return StepState(self.robot, self._action, self._previous, self.tick, self.longest)

    def _weighted(self, step: StepState, without: np.ndarray) -> dict[str, np.ndarray]:
        """Reward term -> (n,) weighted values. Environments in `without` get none."""
        terms = {}
        for term in self._rewards:
            with np.errstate(all="ignore"):
                values = np.where(without, 0.0, term.function(step)) * self.reward_weights[term.name]
            if not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values))[0])
                raise TermError(
                    f"reward term {term.name!r} is {values[row]} in environment {row} (seed {self._seed}, episode "
                    f"{self.episode[row]}, step {self.tick[row]}); correct the term, or remove it from "
                    "environment.rewards"
                )
            terms[term.name] = values
        return terms

    def _reasons(self, step: StepState, diverged: np.ndarray) -> np.ndarray:
        """(n,) name of the term that ends the episode; "" where it goes on."""
        reasons = np.full(self.num_envs, "", object)
        for term in reversed(self._ends):
            with np.errstate(all="ignore"):
                reasons[term.function(step)] = term.name
        reasons[diverged] = DIVERGED
        return reasons

    def _finish(self, ids: np.ndarray, diverged: np.ndarray, reasons: np.ndarray) -> dict[str, Any]:
        """End the episodes of environments `ids`, and begin the next ones."""
        mask = np.zeros(self.num_envs, bool)
        mask[ids] = True
        with np.errstate(all="ignore"):
            success = mask & self.robot.succeeded() & ~diverged
        final_obs = np.full(self.num_envs, None, object)
        for row in ids:
            final_obs[row] = self._policy[row].copy()
        outcome = {
            "success": success, "episode": np.where(mask, self.episode, 0), "length": np.where(mask, self.tick, 0),
            "reason": np.where(mask & (reasons == ""), TIME_LIMIT, np.where(mask, reasons, "")),
            "critic": self._critic.copy(), "shortened": mask & (reasons == "") & (self.tick < self.longest),
        }  # fmt: skip
        final_info = outcome | {f"_{name}": mask for name in outcome}
        if self.curriculum is not None:
            self.curriculum.ended(ids, success[ids])
        self._rounds[ids] += 1
        self._begin(ids)
        return {"final_obs": final_obs, "_final_obs": mask, "final_info": final_info, "_final_info": mask}

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, bool)
        return {"critic": self._critic.copy(), "_critic": every, "episode": self.episode.copy(), "_episode": every}

    def _begin(self, ids: np.ndarray) -> None:
        self.episode[ids] = self._first + ids + self._total * self._rounds[ids]
        draws = self._next_draws(ids)
        if self.curriculum is not None:
            draws = self.curriculum.adjust(ids, draws)
        for place, column in enumerate(self.robot.varied):
            self._drawn[ids, place] = draws.values[column]
        self._start(ids, draws)

    def _start(self, ids: np.ndarray, draws: Draws) -> None:
        self.robot.begin(ids, draws, np.arange(len(ids)))
        self.tick[ids], self._action[ids], self._previous[ids] = 0, 0, 0
        self._look(ids, self._step_state(), np.zeros(self.num_envs, bool))

    def _next_draws(self, ids: np.ndarray) -> Draws:
        """One row for each environment. A round of all environments is drawn at once."""
        rounds = self._rounds[ids]
        for number in np.unique(rounds):
            if int(number) not in self._blocks:
                first = int(number) * self._total + self._first
                self._blocks[int(number)] = self.robot.draw(first, first + self.num_envs)
        for number in [number for number in self._blocks if number < self._rounds.min()]:
            del self._blocks[number]
        blocks = [self._blocks[int(number)] for number in rounds]
        varied = blocks[0].varied
        if len(set(map(id, blocks))) == 1:
            return Draws(self.episode[ids], {k: v[ids] for k, v in blocks[0].values.items()}, varied)
        values = {
            column: np.array([block.values[column][row] for block, row in zip(blocks, ids, strict=True)])
            if column in set(varied)
            else nominal[ids]
            for column, nominal in blocks[0].values.items()
        }
        return Draws(self.episode[ids], values, varied)

    def _look(self, ids: np.ndarray, step: StepState, diverged: np.ndarray) -> None:
        """Read the sensors of environments `ids`. An environment whose physics diverged keeps its last reading."""
        seen = self.robot.observe(None if len(ids) == self.num_envs else ids)
        policy = self.groups.policy(seen)
        critic = self.groups.critic(policy, seen, step, ids)
        if diverged.any():
            kept = diverged[ids]
            policy[kept], critic[kept] = self._policy[ids[kept]], self._critic[ids[kept]]
        self.groups.refuse_non_finite(critic, self.groups.critic_names, ids, self.episode)
        self._policy[ids], self._critic[ids] = policy, critic

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly, as arrays."""
        longest = int(self.tick.max())
        past = (np.arange(longest) < self.tick[:, None])[None, :, :, None]  # not those of episodes before
        state = {
            "seed": np.array(self._seed, np.int64), "rounds": self._rounds.copy(), "tick": self.tick.copy(),
            "drawn": self._drawn.copy(), "actions": np.where(past, self._actions[:, :, :longest], np.float32(0)),
        }  # fmt: skip
        if self.curriculum is not None:
            state |= {f"curriculum/{name}": values for name, values in self.curriculum.state().items()}
        return state

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from a saved state. The running episodes are simulated again with their recorded actions."""
        self._seed, self._begun = int(state["seed"]), True
        self._rounds[:], ticks = state["rounds"], np.asarray(state["tick"])
        self._drawn[:] = state["drawn"]
        self._blocks.clear()
        self.robot.reseed(self._seed)
        if self.curriculum is not None:
            prefix = "curriculum/"
            self.curriculum.restore(
                {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}
            )
        self.episode[:] = self._first + self._all + self._total * self._rounds
        longest = int(ticks.max())
        nothing_ended = np.zeros(self.num_envs, bool)
        for moment in range(longest + 1):
            fresh = np.flatnonzero(longest - ticks == moment)
            if len(fresh):
                draws = self._next_draws(fresh)
                values = dict(draws.values)
                for place, column in enumerate(self.robot.varied):
                    values[column] = self._drawn[fresh, place]
                self._start(fresh, Draws(draws.attempts, values, draws.varied))
            running = np.flatnonzero(longest - ticks <= moment)
            if moment < longest and len(running):
                actions, commands = np.zeros_like(self._action), np.zeros_like(self._action)
                actions[running], commands[running] = np.asarray(state["actions"])[:, running, self.tick[running]]
                self._advance(None if len(running) == self.num_envs else running, actions, commands)
                self._look(running, self._step_state(), nothing_ended)


def _longest_ticks(robot: Embodiment, config: EnvironmentConfig) -> int:
    """Control periods of an episode. An environment without an end is refused."""
    most_s = robot.longest_ticks / robot.rate_hz
    if not 1 <= robot.longest_ticks < np.inf:
        raise UsageError(f"{robot.robot}: an episode of {robot.longest_ticks} control periods never ends; give a limit")
    if config.time_limit_s is None:
        return robot.longest_ticks
    ticks = round(config.time_limit_s * robot.rate_hz)
    if not 1 <= ticks <= robot.longest_ticks:
        raise UsageError(
            f"environment.time_limit_s: {config.time_limit_s:g} was given; {1 / robot.rate_hz:g} to {most_s:g} s was "
            "expected, the longest episode of this task"
        )
    return ticks


def _origin_columns(robot: Embodiment, groups: ObservationGroups) -> np.ndarray:
    """Columns of the policy's vector with the joint positions that relative actions start from."""
    names = [name for name, relative in zip(robot.action.names, robot.scale.relative, strict=True) if relative]
    try:
        return np.array([groups.names.index(f"{STATE}.{name}") for name in names], int)
    except ValueError:
        raise UsageError(
            f"environment.observations: steps from the measured position (actions: delta) need {STATE}; "
            "add it, or use actions: absolute"
        ) from None
