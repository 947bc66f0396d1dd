"""Parts that know one arm only refuse a robot with two, and say what to do instead."""

import pytest

from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.description import description_of
from twinloop.deploy.rehearsal.cell_scene import scene_of
from twinloop.errors import RobotError, UsageError
from twinloop.observe.estimate import derived
from twinloop.observe.features import ObserveConfig, features_of
from twinloop.twin.assemble import assemble
from twinloop.twin.robots import robots
from twinloop.twin.tasks import tasks
from twinloop.twin.twin import Twin


@pytest.fixture(scope="module")
def twin() -> Twin:
    return assemble(robots()["dual_panda"], tasks()["lift_tray"])


def test_scripted_collecting_names_both_arms_and_the_remedy(twin: Twin):
    with pytest.raises(RobotError, match=r"2 arms \(left, right\).*twinloop generate"):
        Demonstrator(description_of(twin, id="pair", lockstep=True), seed=0, task=twin.task)


def test_a_rehearsal_cell_is_refused_before_it_is_built():
    with pytest.raises(UsageError, match=r"cell\.yaml: robot dual_panda has 2 arms.*twin:CONFIG"):
        scene_of({"robot": "dual_panda", "task": "lift_tray"}, where="cell.yaml")


def test_there_is_no_estimate_of_two_hands(twin: Twin):
    features = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    assert derived(features, "dual_panda") is None
