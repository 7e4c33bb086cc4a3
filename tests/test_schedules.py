"""The manual's ways to call `warehouse sync` on a schedule, each tried as far as it can be here."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from syncs import Project
from test_manual import DOCS, blocks

CRON = re.compile(r"(\*/15 \* \* \* \*) (.*)")


PAGE = DOCS / "how-to" / "sync.md"


def only(language: str) -> str:
    (found,) = blocks(PAGE, language)
    return found[1]


@pytest.fixture
def home(synced: Project, program, tmp_path: Path) -> Path:
    """Return a home with the folder `eval`: a project, and the command in its environment."""
    folder = tmp_path / "home"
    folder.mkdir()
    synced.warehouse.init()  # a process of its own would do it by the script
    synced.path.rename(folder / "eval")
    (folder / "eval" / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(program.folder / "warehouse", folder / "eval" / ".venv" / "bin")
    return folder


def ran(line: str, home: Path) -> None:
    """Run a line as cron does: by sh, at home, with next to no environment."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    for said in ("tiny: run one loaded", ""):
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=home, env=environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert said in done.stdout if said else done.stdout == ""


@pytest.mark.slow
def test_the_line_for_cron(home: Path) -> None:
    found = CRON.fullmatch(only("cron").strip())
    assert found
    # a percent sign would end the command
    assert "%" not in found[2]
    ran(found[2], home)


@pytest.mark.slow
def test_the_units_for_systemd(home: Path, tmp_path: Path) -> None:
    units = {"timer": blocks(PAGE, "ini")[0][1], "service": blocks(PAGE, "ini")[1][1]}
    for kind, text in units.items():
        (tmp_path / f"warehouse.{kind}").write_text(text)
        parsed = configparser.ConfigParser(interpolation=None)
        parsed.optionxform = str
        parsed.read_string(text)
        assert "Unit" in parsed
    call = parsed["Service"]["ExecStart"].replace("%h", str(home))
    ran(f"cd {parsed['Service']['WorkingDirectory'].replace('%h', str(home))} && {call}", home)
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    (tmp_path / "runtime").mkdir(mode=0o700)
    done = subprocess.run(
        [analyze, "verify", "--user", "--man=no", *map(str, sorted(tmp_path.glob("warehouse.*")))],
        env=os.environ | {"HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path / "runtime")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_job_for_github(home: Path) -> None:
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(only("yaml"))
    # YAML 1.1 takes the key `on` for true
    assert set(job) == {True, "jobs"}
    steps = job["jobs"]["sync"]["steps"]
    assert [set(step) & {"uses", "run"} for step in steps] == [{"uses"}] * 2 + [{"run"}] * 2
    assert steps[1]["with"]["path"] == "warehouse.duckdb"
    ran(f"cd eval && PATH=$PWD/.venv/bin:$PATH && {steps[-1]['run']}", home)


@pytest.mark.slow
def test_the_action_for_github(night: Project, program, tmp_path: Path) -> None:
    """Its steps, run as they stand; pip and gh are stand-ins."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((DOCS / "examples" / "action.yml").read_text(encoding="utf-8"))
    said = {name: about.get("default", "tiny") for name, about in action["inputs"].items()}
    steps = {step["name"]: step for step in action["runs"]["steps"] if "run" in step}
    assert all(step["shell"] == "bash" for step in steps.values())
    # what comes from outside reaches the shell by variables alone
    assert not any("${{" in step["run"] for step in steps.values())
    programs = {
        "python": 'test "$*" = "-m pip install --quiet tiny"',
        "gh": 'test "$1 $2 $3 $4" = "pr comment 7 --body-file" && cp "$5" posted.md',
        "warehouse": f'exec {program.folder / "warehouse"} "$@"',
    }
    (tmp_path / "bin").mkdir()
    for name, line in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    codes, printed = {}, ""
    for name, step in steps.items():
        given = {
            key: said.get(value.strip("${} ").removeprefix("inputs."), "")
            for key, value in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=night.path, capture_output=True,
            env=os.environ | files | {"RUNNER_TEMP": str(tmp_path)} | given | {
                "NUMBER": "7", "CODE": "1", "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
            },
            text=True, timeout=60, check=False,
        )  # fmt: skip
        codes[name], printed = done.returncode, printed + done.stdout
        assert done.returncode == 0 or name.startswith("Fail"), done.stderr
    assert codes.popitem() == ("Fail if a run is red, or a file is wrong", 1)
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "code=1\n"
    assert printed.count("::error") == 2
    posted = (night.path / "posted.md").read_text()
    assert posted == (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    for text in (
        "## Runs of tiny",
        "**1.0000**",
        "### Gates: 1 run red",
        "Queries that lost most:",
    ):
        assert text in posted


@pytest.mark.slow
def test_the_task_for_airflow(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[dict[str, str]] = []
    made: list[tuple[str, dict[str, object]]] = []

    class Dag:
        def __init__(self, name: str, **options: object) -> None:
            made.append((name, options))

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    # stands in for Airflow: the names that the snippet takes from it
    for name, content in {
        "airflow": {},
        "airflow.sdk": {"DAG": Dag},
        "airflow.providers": {},
        "airflow.providers.standard": {},
        "airflow.providers.standard.operators": {},
        "airflow.providers.standard.operators.bash": {
            "BashOperator": lambda **options: tasks.append(options)
        },
    }.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(only("py"), PAGE, "exec"), {})
    ((name, options),) = made
    assert (name, options["schedule"], options["catchup"]) == ("warehouse", "*/15 * * * *", False)
    (task,) = tasks
    ran(task["bash_command"], home)
