"""``anonto mask --engine spark``: the same output, one sentence when something is wrong, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

SEED = 0x5EED_5EED_5EED_5EED_5EED_5EED_5EED_5EED
PLAN = '[[steps]]\nmethod = "random-swap"\ncolumns = ["dx"]\n'
PLAN_AS_DICT = {"steps": [{"method": "random-swap", "columns": ["dx"]}]}


def table(n: int) -> pl.DataFrame:
    codes = np.array([f"{i:03d}" for i in range(50)])
    return pl.DataFrame({"dx": codes[np.random.default_rng(3).integers(0, 50, n)], "row": np.arange(n)})


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a table and a plan."""
    table(60_000).write_parquet(tmp_path / "in.parquet", row_group_size=4_000)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def command(here: Path, master: str, *more: str) -> list[str]:
    words = ["mask", str(here / "in.parquet"), "--plan", str(here / "plan.toml"), "--engine", "spark"]
    return [*words, "--output", str(here / "out.parquet"), "--master", master, "--seed", str(SEED), *more]


def environment(cluster: Any, folder: Path, **options: str) -> dict[str, str]:
    """The configuration of Spark as its users give it: in a file."""
    folder.mkdir(exist_ok=True)
    settings = {**cluster.session_options(), **options}
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    return {**os.environ, "SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_the_command_writes_what_one_machine_writes_and_shows_no_secret(cluster: Any, here: Path) -> None:
    events = here / "events"
    events.mkdir()
    settings = environment(
        cluster,
        here / "conf",
        **{"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": events.as_uri()},
    )
    done = subprocess.run(
        [sys.executable, "-m", "anonto", *command(here, cluster.url, "--json")],
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    local = anonto.mask(here / "in.parquet", PLAN_AS_DICT, seed=SEED)
    assert json.loads(done.stdout) == local.evidence
    local.save(here / "local.parquet", private=False)
    parts = sorted((here / "out.parquet").glob("*.parquet"))
    assert pl.concat([pl.read_parquet(part) for part in parts]).equals(pl.read_parquet(here / "local.parquet"))
    logs = [*events.rglob("*"), *cluster.folder.rglob("std*"), *cluster.folder.glob("*.log")]
    texts = [one.read_bytes() for one in logs if one.is_file()]
    assert any(b"Masking the rows" in text for text in texts)
    key = local.seed.key("permutations", "apply 0 dx").secret
    for secret in (str(SEED), f"{SEED:x}", key.hex(), repr(key)):
        assert not any(secret.encode() in text for text in texts)


def test_profile_and_assess_read_the_folder_that_was_written(cluster: Any, here: Path) -> None:
    settings = environment(cluster, here / "conf")
    table(500).write_parquet(here / "in.parquet", row_group_size=100)
    (here / "plan.toml").write_text("[columns.dx]\n[columns.row]\nrole = 'other'\n" + PLAN)
    on_cluster = ["--plan", str(here / "plan.toml"), "--engine", "spark", "--master", cluster.url, "--json"]
    masked = str(here / "out.parquet")
    commands = [
        command(here, cluster.url, "--json"),
        ["profile", masked, *on_cluster],
        ["assess", str(here / "in.parquet"), masked, *on_cluster, "--private", f"{masked}.private.json"],
    ]
    program = f"import sys\nfrom anonto.cli.main import run\nsys.exit(max(run(one) for one in {commands!r}))"
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, profile, assessment = (json.loads(text) for text in done.stdout.replace("\n}\n{", "\n}\0{").split("\0"))
    assert profile["n_records"] == assessment["n_records"] == 500
    assert profile["columns"][0]["distinct"] == 50
    assert {one["attack"] for one in assessment["risk"]} >= {"distance-linkage", "uniqueness"}


def test_a_master_that_does_not_answer_is_reported_in_one_sentence(
    here: Path, java: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del java
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    before = names(here)
    assert run(command(here, f"spark://127.0.0.1:{port}")) == 2
    assert "No Spark cluster answers" in capsys.readouterr().err
    assert names(here) == before


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--memory", "2MB"], "memory must be a size of at least 500 MB, such as 500MB or 2GB; got '2MB'"),
        (["--output", "out.csv"], "'out.csv' does not end in .parquet"),
        (["--output", "hdfs://far/out.parquet"], "not a folder of this machine"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_before_it_is_asked(
    more: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command(here, "spark://127.0.0.1:1", *more)) == 2
    assert words in capsys.readouterr().err
    files = [str(here / "in.parquet"), "--plan", str(here / "plan.toml"), "--output", str(here / "out.parquet")]
    assert run(["mask", *files, "--master", "spark://127.0.0.1:1"]) == 2
    assert "--master is for tables on a Spark cluster" in capsys.readouterr().err


def test_ctrl_c_leaves_nothing(cluster: Any, here: Path) -> None:
    settings = environment(cluster, here / "conf")
    table(3_000_000).write_parquet(here / "in.parquet", row_group_size=1 << 17)
    before = names(here)
    started = subprocess.Popen(
        [sys.executable, "-m", "anonto", *command(here, cluster.url)],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not any(here.glob(".anonto-*.parquet/_temporary")) and started.poll() is None:
            time.sleep(0.02)
        os.killpg(started.pid, signal.SIGINT)
        _, errors = started.communicate(timeout=120)
    finally:
        started.kill()
    assert "Stopped; nothing was left half-written." in errors
    assert started.returncode == 130
    assert names(here) == before
