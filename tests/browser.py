"""A headless Chromium, driven by the WebDriver protocol, where the machine has one."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WHY_NOT = "" if BROWSER and DRIVER else "Chromium and its driver are not installed"
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class Browser:
    """A window of 1,200 by 900 pixels; a context that ends it."""

    def __enter__(self) -> Self:
        # It says which free port it has taken.
        self._driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
        said = next(line for line in self._driver.stdout if "successfully on port" in line)
        self._url = f"http://127.0.0.1:{said.rsplit(maxsplit=1)[1].rstrip('.')}"
        wanted = {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [*ARGUMENTS, "--window-size=1200,900"]},
        }
        try:
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._driver.kill()
            raise
        self._url += f"/session/{made['sessionId']}"
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.communicate()

    def _ask(self, method: str, path: str, data: dict[str, Any] | None = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self._url + path, body, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, page: Path) -> None:
        """Loads a file, and waits until it is there."""
        self._ask("POST", "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """The value that the body of a function returns, in the page."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other, wherever the focus is."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        action = {"type": "key", "id": "keys", "actions": strokes}
        self._ask("POST", "/actions", {"actions": [action]})

    def prefer(self, **features: str) -> None:
        """Sets what a reader prefers, such as `prefers_color_scheme="dark"`."""
        named = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        self._develop("Emulation.setEmulatedMedia", features=named)

    def picture(self) -> bytes:
        """The whole page, as PNG."""
        captured = self._develop("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        return base64.b64decode(captured["data"])

    def console(self) -> list[str]:
        """Messages of the console since the last call: errors, and refused requests."""
        time.sleep(0.2)
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def _develop(self, command: str, **values: Any) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": values})
