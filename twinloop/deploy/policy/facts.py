"""PolicyFacts: the card's digest and the inputs and actions of a policy, known before it runs."""

from dataclasses import dataclass
from pathlib import Path

from twinloop.deploy.robot import Description
from twinloop.errors import CheckpointError
from twinloop.learn.space import Space, camera_misfit, table_of


@dataclass(frozen=True)
class PolicyFacts:
    name: str
    digest: str
    space: Space
    knows_real: bool

    def refuse_misfit(self, about: Description) -> None:
        """Raise CheckpointError if the policy was trained for another robot, rate or set of sensors."""
        differences = self.space.differences(about.space([feature.name for feature in self.space.inputs]))
        if differences:
            table = table_of(differences, here=self.name, there=about.id)
            cameras = camera_misfit(self.space, about.observed, where=about.id)
            raise CheckpointError(f"{self.name} does not fit {about.id}. {cameras}\nDifferences:\n{table}")


def read_facts(path: Path) -> PolicyFacts:
    """Return the facts of a checkpoint folder (from its card alone) or of an ONNX file."""
    if path.suffix == ".onnx":
        from twinloop.learn.onnx_runtime import OnnxRuntime

        runtime = OnnxRuntime(path)
        return PolicyFacts(path.stem, runtime.card_digest, runtime.space, runtime.knows_real)
    from twinloop.learn.card import read_card

    card = read_card(path)
    return PolicyFacts(path.resolve().name, card.digest, card.space, card.knows_real)
