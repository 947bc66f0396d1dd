"""An engine that is not installed is refused with the command that installs it, and with another engine."""

import sys

import pytest

from twinloop.deploy.rehearsal.physics import physics_class
from twinloop.errors import UsageError


@pytest.mark.parametrize(
    ("engine", "package", "module", "message"),
    [
        ("drake", "pydrake", "drake_physics", r"needs Drake .*pip install --no-deps drake, or write rehearsal:physx:"),
        ("physx", "sapien", "physx_physics", r"needs SAPIEN .*pip install 'twinloop\[physx\]', or leave out physx:"),
    ],
)
def test_an_engine_that_is_not_installed_is_refused(
    engine: str, package: str, module: str, message: str, monkeypatch: pytest.MonkeyPatch
):
    loaded = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    for name in (*loaded, f"twinloop.deploy.rehearsal.{module}"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=message):
        physics_class(engine)
