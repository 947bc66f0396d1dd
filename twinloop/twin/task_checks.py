"""Mistakes in a task that can be found before anything is simulated: unknown names, roles that do not fit, no end."""

import string
from collections.abc import Collection, Iterator
from math import degrees
from typing import TYPE_CHECKING

from twinloop.errors import ModelError, nearest
from twinloop.twin.entity import Thing
from twinloop.twin.robot import Robot

if TYPE_CHECKING:
    from twinloop.twin.task import Task

LONGEST_S = 600.0


def refuse_bad_task(task: "Task") -> None:
    """Raise ModelError for the first mistake, which names the task and where in it the mistake is."""
    for where, problem in _problems(task):
        raise ModelError(f"task {task.name!r}: {where}: {problem}")


def unfit_arms(task: "Task", robot: Robot) -> str:
    """Why a robot cannot do a task, which needs other arms or a mobile base; "" if it has them."""
    needed, there = task.arms, tuple(arm.name for arm in robot.arms)
    if set(needed) == set(there):
        if task.travels and not robot.travels:
            return f"{task.name} needs a robot with a mobile base; {robot.name} stands still. Choose mobile_panda"
        return ""
    if needed == ("",):
        return (
            f"{task.name} is for one arm; {robot.name} has {len(there)} ({', '.join(there)}). Choose a robot with one"
        )
    wanted = " and ".join(needed)
    if there == ("",):
        example = ", ".join(f"{arm}: {robot.name}" for arm in needed)
        return f"{task.name} needs the arms {wanted}; {robot.name} has one. Give `robots: {{{example}}}`"
    return f"{task.name} needs the arms {wanted}; {robot.name} has {' and '.join(there)}. Rename them in `robots`"


def unfit(task: "Task", robot: Robot) -> str:
    """Why the scripted expert cannot do a task with a robot: arms, axes, or how far its hand leans; "" if it can."""
    reason = unfit_arms(task, robot) or _too_few_axes(task, robot)
    if reason or robot.area is None:
        return reason
    leans_rad, most_rad = max(phase.leans_rad for phase in task.for_robot(robot).program), robot.area.lean_rad
    if leans_rad <= most_rad:
        return ""
    return (
        f"{task.name} leans the hand by {degrees(leans_rad):.0f}° past the vertical; with {len(robot.arm_joints)} axes "
        f"the hand of {robot.name} leans by {degrees(most_rad):.0f}°. Choose a robot with more axes"
    )


def _too_few_axes(task: "Task", robot: Robot) -> str:
    few = [arm for arm in robot.arms if arm.axes < task.least_axes]
    if not few:
        return ""
    arm = f"the arm {few[0].name!r} of {robot.name}" if few[0].name else robot.name
    return (
        f"{task.name} needs {task.least_axes} axes or more, to hold a thing in a given direction at a given place; "
        f"{arm} has {few[0].axes}. Choose a robot with more axes"
    )


def used_frames(task: "Task", name: str) -> set[str]:
    """The frames of an entity that the program and the relations of a task name."""
    split = (named.partition(".") for _, named in _named(task))
    return {frame for entity, _, frame in split if frame and name in _players(task, entity)}


def refuse_unknown_frames(task: "Task", frames: Collection[str]) -> None:
    """Raise ModelError if the task names a frame that no entity has. `frames` are those of the compiled scene."""
    for where, name in _named(task):
        entity, dot, frame = name.partition(".")
        for player in _players(task, entity) if dot else ():
            if f"{player}.{frame}" not in frames:
                own = [known for known in frames if known.startswith(f"{player}.")]
                hint = nearest(f"{player}.{frame}", own) if own else f"{player} has no frames"
                raise ModelError(f"task {task.name!r}: {where}: names the frame {player}.{frame}; {hint}")


def _problems(task: "Task") -> Iterator[tuple[str, str]]:
    names = [entity.name for entity in task.entities]
    for name in names:
        if names.count(name) > 1:
            yield "entities", f"{name!r} is there twice; every entity has a name of its own"
        if "." in name:
            yield "entities", f"{name!r} has a dot, which separates an entity from its frames"
    if not task.entities or not isinstance(task.entities[0], Thing):
        yield "entities", "the first is to be a Thing; every scene has at least one"
    if not task.program:
        yield "program", "is empty; at least one skill was expected"
    if not task.success:
        yield "success", "is empty; at least one relation was expected"
    yield from _role_problems(task)
    known = [*names, *(role.name for role in task.roles)]
    for where, name in _named(task):
        entity = name.partition(".")[0]
        if entity not in known:
            yield where, f"names {entity!r}, which is no entity or role of the task; {nearest(entity, known)}"
    yield from _end_problems(task)
    yield from _step_problems(task)
    if not task.language.templates:
        yield "language", "has no templates; at least one instruction was expected"
    for number, template in enumerate(task.language.templates, start=1):
        yield from _slot_problems(f"language, template {number}", template, known)
    for number, phase in enumerate(task.program, start=1):
        yield from _slot_problems(f"phase {number} ({phase.name}), words", phase.words, known)


def _slot_problems(where: str, template: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    try:
        slots = [slot for _, slot, _, _ in string.Formatter().parse(template) if slot is not None]
    except ValueError:
        yield where, f"is {template!r}, where a brace does not belong to a pair; slots are written as {{name}}"
        return
    for slot in slots:
        if slot not in known:
            yield where, f"has the slot {slot!r}; {nearest(slot, known)}"


def _role_problems(task: "Task") -> Iterator[tuple[str, str]]:
    names = [entity.name for entity in task.entities]
    for role in task.roles:
        for candidate in role.candidates:
            if candidate not in names:
                yield f"role {role.name!r}", f"has the candidate {candidate!r}; {nearest(candidate, names)}"
        if role.name in names:
            yield f"role {role.name!r}", "has the name of an entity; choose another one"
        if len(role.candidates) != len(task.roles[0].candidates) or not role.candidates:
            yield (
                f"role {role.name!r}",
                (
                    f"has {len(role.candidates)} candidates and role {task.roles[0].name!r} has "
                    f"{len(task.roles[0].candidates)}; all roles have equally many, at least one"
                ),
            )


def _end_problems(task: "Task") -> Iterator[tuple[str, str]]:
    """A program that can never end: without time limits, or with a retry of a phase that is not there."""
    if not 0 < task.longest_s <= LONGEST_S:
        yield "longest_s", f"is {task.longest_s:g}; a time of more than 0 and at most {LONGEST_S:g} s was expected"
    names = [phase.name for phase in task.program]
    for number, phase in enumerate(task.program, start=1):
        where = f"phase {number} ({phase.name})"
        if not 0 < phase.longest_s <= LONGEST_S:
            yield where, f"longest_s is {phase.longest_s:g}; more than 0 and at most {LONGEST_S:g} s was expected"
        if phase.shortest_s > phase.longest_s:
            yield where, f"shortest_s, {phase.shortest_s:g}, is longer than longest_s, {phase.longest_s:g}"
        if phase.speed_m_s <= 0:
            yield where, f"speed_m_s is {phase.speed_m_s:g}; it would never arrive"
        if phase.retry and phase.retry not in names[:number]:
            yield where, f"goes back to {phase.retry!r}; {nearest(phase.retry, names[:number])}"


def _step_problems(task: "Task") -> Iterator[tuple[str, str]]:
    """An arm without phases in a step of a program for several arms would not know where to wait."""
    if len(task.arms) > 1 and "" in task.arms:
        yield "program", "has phases with and without an arm; `in_steps` gives every phase its arm"
    for step in range(1 + max((phase.step for phase in task.program), default=0)):
        missing = [
            arm for arm in task.arms if not any((phase.arm, phase.step) == (arm, step) for phase in task.program)
        ]
        if missing:
            yield (
                f"program, step {step + 1}",
                f"has no phase of the arm {missing[0]}; `hold` is one that does nothing else",
            )


def _named(task: "Task") -> Iterator[tuple[str, str]]:
    """(where, name) of every entity, role or frame that the program, the relations and the goal name."""
    for number, phase in enumerate(task.program, start=1):
        grip = phase.grip.of if phase.grip is not None else ""
        moved = "" if phase.moves == "tool" else phase.moves
        for name in dict.fromkeys((phase.thing, phase.anchor, moved, phase.carrying, grip)):
            if name:
                yield f"phase {number} ({phase.name})", name
    for relation in task.success:
        for name in relation.about:
            yield f"relation {relation.name}", name
    if task.goal:
        yield "goal", task.goal


def _players(task: "Task", name: str) -> tuple[str, ...]:
    role = next((role for role in task.roles if role.name == name), None)
    return role.candidates if role is not None else (name,)
