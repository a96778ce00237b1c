"""Where a browser is there, a page about a schedule is opened: its script, its keys and its widths.

``python -m docs.screenshots`` makes the pictures for a person's eye.
"""

import json
import re
import shutil
import subprocess

import pytest

import spaces
from docs.screenshots import BROWSERS

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser is installed that is called {' or '.join(BROWSERS)}"
)

WATCH = """<script>
const faults = [];
addEventListener("error", (event) => faults.push(event.message));
addEventListener("unhandledrejection", (event) => faults.push(String(event.reason)));
</script>"""

TRY = """<script>
(async () => {
  const lit = () => [...new Set([...document.querySelectorAll(".lit[data-func]")]
    .map((one) => one.dataset.func))];
  const of = (name) => document.querySelector(`#nest [data-func="${name}"]`);
  const point = (at) => at.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
  const found = {nest: document.querySelectorAll("#nest [data-func]").length};
  point(of("blur_x"));
  found.pointed = lit();
  point(document.body);
  found.left = lit();
  of("blur_y").click();
  point(document.body);
  found.clicked = lit();
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
  found.escaped = lit();
  const code = document.querySelector("pre[data-z]");
  code.closest("details").open = true;
  for (let wait = 0; wait < 100 && !code.hasChildNodes(); wait++)
    await new Promise((done) => setTimeout(done, 20));
  found.code = code.textContent.includes("define");
  const slider = document.querySelector(".player input");
  slider.value = slider.max;
  slider.dispatchEvent(new Event("input"));
  found.step = document.querySelector(".player .controls").textContent;
  const focusable = [...document.querySelectorAll("a, button, input, summary, [tabindex='0']")];
  found.unreachable = focusable.filter((one) => {
    one.focus();
    return one.checkVisibility() && document.activeElement !== one;
  }).map((one) => one.outerHTML.slice(0, 200));
  found.unscrolled = [...document.querySelectorAll("*")].filter((one) =>
    /auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth
    && one.tabIndex < 0).map((one) => one.outerHTML.slice(0, 200));
  found.wider = document.documentElement.scrollWidth - innerWidth;
  found.faults = faults;
  const told = document.createElement("script");
  told.type = "application/json";
  told.id = "found";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
})();
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pipeline = spaces.APPS["blur"].pipeline()
    text = (
        "blur_y.split(y, y, yi, 32).parallel(y).vectorize(x, 16);"
        "blur_x.store_at(blur_y, y).compute_at(blur_y, yi).vectorize(x, 16);"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), spaces.device("cpu"))
    html = spaces.report(checked, names=("mine", "")).html
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html.replace("<head>", f"<head>{WATCH}").replace("</body>", f"{TRY}</body>"))
    return path


def opened(page, width):
    """What the script that tries the page found."""
    call = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000"]
    call += [f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},900"]
    done = subprocess.run(
        [*call, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    told = re.search(r'<script type="application/json" id="found">(.*?)</script>', done.stdout)
    assert told, "The script of the page did not end."
    return json.loads(told[1])


@pytest.mark.parametrize("width", [1280, 500])
def test_pointing_clicking_and_keys_light_up_what_belongs_together(page, width):
    found = opened(page, width)
    assert found["faults"] == []
    assert found["nest"] > 2
    assert found["pointed"] == ["blur_x"]
    assert found["left"] == found["escaped"] == []
    assert found["clicked"] == ["blur_y"]
    assert found["code"]
    assert re.search(r"step ([\d,]+) of \1: ", found["step"])
    assert found["unreachable"] == []
    assert found["unscrolled"] == [], "keys do not scroll it"
    assert found["wider"] <= 0, "the page is wider than the window"
