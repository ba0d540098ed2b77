"""How it looks: narrow and wide, light and dark, with the longest ids. CONSOLE_SHOTS=DIR keeps the pictures."""

import os
from pathlib import Path

import pytest
from conftest import LONG, open_page
from playwright.sync_api import expect

# The contrast of each text with what it stands on, as WCAG 2 counts it.
CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest('.hidden, noscript, script, .skip') || !element.getClientRects().length) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.className || element.tagName}: ${element.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""

OVERFLOW = """() => [...document.querySelectorAll('body *')]
  .filter((element) => !element.closest('.hidden, .skip, pre, .landings .id, option') && element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}`)"""


def keep(page, name):
    folder = os.environ.get("CONSOLE_SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize("width", [320, 768, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(sandbox, context, scheme, width):
    page, _ = open_page(context, sandbox.url)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tenant = next(tenant for tenant, tier in LONG.items() if tier == "premium")
    page.get_by_label("As tenant").select_option(tenant)
    page.get_by_role("button", name="Post event").click()
    expect(page.locator("#way .step.done")).to_have_count(3)
    expect(page.locator("#way .record")).to_contain_text(tenant)
    expect(page.locator("#landings")).to_contain_text(tenant)
    keep(page, f"{scheme}-{width}")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOW) == []
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("() => getComputedStyle(document.querySelector('#total-rate')).fontVariantNumeric") == "tabular-nums"


def test_nothing_moves_for_whoever_asked_for_less_motion(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Post event").click()
    expect(page.locator("#way .step.done")).to_have_count(3)
    assert page.evaluate("() => document.getAnimations().length") == 0
