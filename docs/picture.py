"""Take the README's picture, the board of the demo, in Chromium: `python docs/picture.py`.

Needs `pip install playwright` and Debian's package chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("board.png")


def main() -> None:
    """Make the demo and its report, and take the picture of the board."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    env = os.environ | {"PYTHONPATH": str(PICTURE.parents[1])}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        for words in (["demo"], ["report", "site", "--db", "demo.duckdb"]):
            command = [sys.executable, "-m", "warehouse", *words]
            subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
        shown = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = shown.new_page(viewport={"width": 1280, "height": 720})
        page.goto((Path(folder) / "site" / "dl19" / "index.html").as_uri())
        page.screenshot(path=PICTURE)
        shown.close()


if __name__ == "__main__":
    main()
