"""The page of a loop that waits for people: a checklist to print."""

from collections.abc import Sequence
from pathlib import Path

from twinloop.dashboard.page import render_page, write_page
from twinloop.deploy.plan_file import CollectionRequest

MOST_BOXES = 200

BEFORE = (
    "The e-stop works: it was pressed and reset today.",
    "Nobody is in reach of the robot but the operator.",
    "Cameras and lights are as in earlier recordings, and lenses are clean.",
    "Everybody in view has a recorded consent (`twinloop consent`).",
)


def write_checklist_page(
    target: Path, *, robot: str, text: str, commands: Sequence[str], requests: Sequence[CollectionRequest]
) -> Path:
    """Write the checklist. `requests`: demonstrations to collect; empty if the loop waits for something else."""
    page = render_page(
        "checklist.html",
        title="checklist · twinloop",
        heading="Waiting for people",
        lead=f"{text}.",
        before=BEFORE,
        commands=list(commands),
        requests=[
            (
                number, request.episodes,
                ", ".join(f"{name}: {value}" for name, value in request.conditions.items()) or "any",
                min(request.episodes, MOST_BOXES),
            )
            for number, request in enumerate(requests, start=1)
        ],
        robot=robot,
    )  # fmt: skip
    return write_page(target, page)
