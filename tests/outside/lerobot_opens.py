"""Opens a dataset of ours with lerobot itself, loads batches, and trains its ACT for one step.

Run by an interpreter that has lerobot. It needs an environment of its own, since it pins other versions:

    lerobot-venv/bin/python tests/outside/lerobot_opens.py DATASET
    LEROBOT_PYTHON=lerobot-venv/bin/python make test
"""
# pyright: reportMissingImports=false

import sys
from pathlib import Path

import torch


def name_operators() -> torch.library.Library:
    """torchvision's wheel may lack its compiled operators; to import it their names are enough, while this lives."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, operator):
            library.define(f"{operator}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    return library


def main(folder: Path) -> None:
    operators = name_operators()
    from lerobot.configs.types import FeatureType
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.datasets.utils import dataset_to_policy_features
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy

    chunk = 10
    plain = LeRobotDataset(f"local/{folder.name}", root=folder)
    ahead = {"action": [step / plain.fps for step in range(chunk)]}
    dataset = LeRobotDataset(f"local/{folder.name}", root=folder, delta_timestamps=ahead)
    assert len(dataset) == dataset.meta.total_frames > 0
    features = dataset_to_policy_features(dataset.meta.features)
    config = ACTConfig(
        input_features={
            name: feature for name, feature in features.items()
            if feature.type is not FeatureType.ACTION and name.startswith("observation.")
            and name in ("observation.state", "observation.environment_state")
        },
        output_features={"action": features["action"]},
        chunk_size=chunk, n_action_steps=chunk, dim_model=32, n_heads=2, dim_feedforward=64, device="cpu",
        pretrained_backbone_weights=None,
    )  # fmt: skip
    policy = ACTPolicy(config)
    batch = next(iter(torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=True)))
    assert all(task for task in batch["task"])
    loss, _ = policy(batch)
    loss.backward()
    assert torch.isfinite(loss)
    del operators
    print(f"{len(dataset)} frames, {dataset.meta.total_episodes} episodes, loss {loss.item():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
