"""Start-up: help is fast, a command imports only what it needs, and Ctrl-C never ends in a traceback."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from twinloop.cli.commands import COMMANDS, GROUPS

pytestmark = pytest.mark.processes

HEAVY = ("mujoco", "scipy.special", "torch", "duckdb", "pyarrow.dataset", "ray", "av", "onnxruntime")


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_takes_a_tenth_of_a_second_of_cpu_time():
    def cpu_seconds(*command: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(cpu_seconds("-m", "twinloop", "--help") for _ in range(3)) < 0.1


def test_help_lists_every_command_once_under_its_stage():
    text = run_python("import sys; from twinloop.cli import main; sys.exit(main(['--help']))").stdout
    lines = text.splitlines()
    for title, group in GROUPS.items():
        start = lines.index(f"{title}:") + 1
        assert [line.split()[0] for line in lines[start : start + len(group)]] == list(group)
    assert len(COMMANDS) == sum(len(group) for group in GROUPS.values())


@pytest.mark.parametrize(
    "command", ["info", "verify", "merge", "query", "fetch", "status", "rollback", "train", "finetune", "consent"]
)
def test_commands_start_without_engines_they_do_not_need(command: str):
    code = """
        import json, sys
        from twinloop.cli import main
        try:
            main([sys.argv[1], "--bad-option"])
        except SystemExit:
            pass
        print(json.dumps([name for name in sys.argv[2:] if name in sys.modules]))
    """
    done = run_python(code, command, *HEAVY)
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("command", ["generate", "promote", "evaluate"])
def test_commands_that_simulate_start_without_statistics_and_charts(command: str):
    code = "import sys; from importlib import import_module; import_module(f'twinloop.cli.{sys.argv[1]}')"
    code += "\nprint([name for name in sys.argv[2:] if name in sys.modules])"
    assert run_python(code, command, "scipy.stats", "torch", "duckdb", "altair").stdout.strip() == "[]"


def test_workers_start_without_sql_special_functions_and_curators():
    code = "import sys, twinloop.pipeline.produce; print([name for name in sys.argv[1:] if name in sys.modules])"
    absent = ("duckdb", "scipy.special", "pyarrow.dataset", "torch", "rich", "twinloop.curate.discriminator.curator")
    assert run_python(code, *absent).stdout.strip() == "[]"


def test_workers_that_evaluate_deploy_and_collect_start_without_parts_of_scipy():
    code = "import sys, twinloop.gate.evaluate, twinloop.deploy.collect; "
    code += "print([name for name in sys.argv[1:] if name in sys.modules])"
    absent = [f"scipy.{part}" for part in ("sparse", "linalg", "stats", "special", "ndimage", "optimize", "spatial")]
    assert run_python(code, *absent).stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["argparse", "twinloop.cli.commands", "rich", "twinloop.errors", "numpy", "pyarrow"])
@pytest.mark.parametrize("command", ["info", "generate"])
def test_ctrl_c_while_a_module_is_imported_ends_in_one_line(module: str, command: str):
    code = """
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell starts with SIGINT ignored
        class Interrupt:
            def find_spec(self, name, path=None, target=None):
                if name == sys.argv[1]:
                    os.kill(os.getpid(), signal.SIGINT)
        from twinloop.cli import main
        sys.modules.pop(sys.argv[1], None)
        sys.meta_path.insert(0, Interrupt())
        sys.exit(main([sys.argv[2], "missing"]))
    """
    done = run_python(code, module, command)
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "twinloop: stopped by Ctrl-C. The same command continues where it stopped."


def test_ctrl_c_in_the_terminal_leaves_no_traceback_of_a_starting_worker():
    """The signal reaches the whole process group, workers included, the moment they are started."""
    code = """
        import os, signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from twinloop.fleet import local
        local.prepare("twinloop.pipeline.produce", 2)
        try:
            for _ in range(30):
                os.killpg(0, signal.SIGINT)
                time.sleep(0.01)
        except KeyboardInterrupt:
            pass
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for _ in range(60):
            os.killpg(0, signal.SIGINT)
            time.sleep(0.02)
        alive = [worker.process.poll() for worker in local._PREPARED]
        local.dismiss()
        print(alive)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    assert done.stdout.strip() == "[None, None]", done.stderr
    assert done.stderr == ""


def test_an_unknown_command_names_the_nearest_one():
    done = run_python("import sys; from twinloop.cli import main; sys.exit(main(['genrate']))")
    assert done.returncode == 2
    assert "did you mean generate" in done.stderr


def test_a_reader_that_stops_early_is_no_error():
    command = subprocess.Popen(
        [sys.executable, "-m", "twinloop", "tasks", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    command.stdout.close()  # as `| head` does
    _, errors = command.communicate(timeout=60)
    assert b"Traceback" not in errors
