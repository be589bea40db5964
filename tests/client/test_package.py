"""`npm pack` beside the module gives a package that a program can import."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bosket._version import __version__
from tests.client.node import MODULE, NODE, STATIC, needs_node

NPM = shutil.which("npm")
DECLARED = set(
    re.findall(r"^export (?:function|class) (\w+)", (STATIC / "bosket.d.ts").read_text("utf-8"), re.MULTILINE)
)


def test_every_name_is_declared() -> None:
    source = MODULE.read_text("utf-8")
    assert set(re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", source, re.MULTILINE)) == DECLARED
    assert json.loads((STATIC / "package.json").read_text())["version"] == __version__


def test_the_page_has_no_script_of_its_own_and_asks_nobody_else() -> None:
    page = (STATIC / "page.html").read_text("utf-8")
    assert re.findall(r"<script(?! type=\"module\" src=\"/static/page\.mjs\"></script>)", page) == []
    assert not re.search(r"\son\w+=|style=|<style|javascript:", page)
    for name in ("page.html", "page.mjs", "page.css", "show.mjs", "bosket.mjs"):
        text = (STATIC / name).read_text("utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org)", text), name
        assert "innerHTML" not in text
        assert "eval(" not in text


@needs_node
@pytest.mark.slow
@pytest.mark.skipif(NPM is None, reason="npm is not installed: the package is not packed")
def test_a_program_uses_the_package(tmp_path: Path) -> None:
    assert NPM is not None
    assert NODE is not None
    command = [NPM, "pack", "--offline", "--json", "--pack-destination", str(tmp_path), str(STATIC)]
    packed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)[0]
    names = {file["path"] for file in packed["files"]}
    assert names == {"package.json", "README.md", "bosket.mjs", "bosket.d.ts", "show.mjs"}
    folder = tmp_path / "node_modules" / "bosket"
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", tmp_path / packed["filename"], "-C", folder, "--strip-components=1"], check=True)
    program = """
import * as bosket from "bosket";
import { inWords } from "bosket/show";
const plan = await bosket.readPlan(process.argv[2]);
const report = await bosket.randomize(plan, ["a"]);
console.log(JSON.stringify([Object.keys(bosket).sort(), report.length, inWords(plan, report).said]));
"""
    (tmp_path / "program.mjs").write_text(program)
    plan = (
        '{"bosket_plan":1,"domain":{"declared":true,"items":["a","b"],"kind":"items"},"mechanism":'
        '{"default":null,"keep":1.0,"keep_absent":null,"name":"flip"},"unit":{"max_size":null,"reports":1}}'
    )
    command = [NODE, str(tmp_path / "program.mjs"), plan]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found, length, said = json.loads(done.stdout)
    assert set(found) == DECLARED
    assert length == 17
    assert said == "Your report claims these:"
