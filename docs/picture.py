"""Take the README's pictures, two pages of the demo, in Chromium: `python docs/picture.py`.

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

DOCS = Path(__file__).parent
# The pictures, each with its page below that of the dataset.
PICTURES = {"board.png": "index.html", "compare.png": "compare.html"}


def main() -> None:
    """Make the demo and its report, and take the pictures."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    env = os.environ | {"PYTHONPATH": str(DOCS.parent)}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        for words in (["demo"], ["report", "site", "--db", "demo.duckdb"]):
            command = [sys.executable, "-m", "warehouse", *words]
            subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
        shown = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = shown.new_page(viewport={"width": 1280, "height": 720})
        for name, path in PICTURES.items():
            page.goto((Path(folder) / "site" / "dl19" / path).as_uri())
            page.wait_for_timeout(1000)
            page.screenshot(path=DOCS / name)
        shown.close()


if __name__ == "__main__":
    main()
