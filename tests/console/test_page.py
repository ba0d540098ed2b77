"""The console as a person meets it, in a browser."""

import json
import re
import time

from conftest import LONG, MORE, Sandbox, open_page
from playwright.sync_api import expect

EVERYONE = 3 + len(LONG) + len(MORE)


def way(page):
    return page.locator("#way")


def event(page):
    return page.get_by_role("textbox", name=re.compile("^Event"))


def cell(page, tenant, label):
    row = page.locator("#tenants tr", has=page.get_by_role("rowheader", name=tenant, exact=True))
    return row.locator(f'td[data-label="{label}"]')


def test_the_page_is_complete_as_it_comes_and_asks_nobody_else(sandbox, context):
    page, seen = open_page(context, sandbox.url)
    assert page.locator("#tenants tbody tr").count() == EVERYONE == 20
    assert cell(page, "tenant-2", "Tier").inner_text() == "advanced"
    assert cell(page, "tenant-2", "Producer").inner_text() == "pool-1"
    assert cell(page, "tenant-2", "Consumer").inner_text() == "tenant-2"
    queue = page.locator("#tenants tbody", has=page.get_by_role("rowheader", name="tenant-3", exact=True)).locator("td.queue")
    assert queue.inner_text().split() == ["queue", "consumer-tenant-3", "table", "consumer-tenant-3"]
    assert {re.match(r"https?://[^/]+", url)[0] for url in seen.requests} == {sandbox.url}
    assert seen.errors == []
    # Without its script it has its words, and with it the table is there before anything else was asked for.
    assert '"id":"tenant-3"' in sandbox.ask("/")[1]


def test_an_event_is_seen_on_its_way_to_its_record(sandbox, context):
    page, seen = open_page(context, sandbox.url)
    page.get_by_label("As tenant").select_option("tenant-2")
    event(page).fill('{"order": 4711}')
    page.get_by_role("button", name="Post event").click()
    expect(way(page).locator(".step.done")).to_have_count(3)
    expect(way(page).locator(".step b")).to_have_text(["Posted", "In the queue", "Stored"])
    times = [float(text.removesuffix(" ms").replace(",", "")) for text in way(page).locator(".time").all_inner_texts()]
    assert times[0] == 0.0 < times[1] <= times[2]
    record = dict(zip(way(page).locator("dt").all_inner_texts(), way(page).locator("dd").all_inner_texts()))
    assert (record["tenant_id"], record["body"]) == ("tenant-2", '{"order": 4711}')
    assert (record["producer_environment"], record["consumer_environment"]) == ("pool-1", "tenant-2")
    expect(page.locator("#said")).to_have_text(re.compile(r"^Stored after .* ms\.$"))
    stored = json.loads(sandbox.ask("/consumer/messages?limit=1", headers={"TenantID": "tenant-2"})[1])["messages"][0]
    assert stored["message_id"] == record["message_id"]
    expect(page.locator("#landings .id").first).to_have_text(record["message_id"])
    assert seen.errors == []


def test_everything_can_be_done_by_keyboard_and_where_one_is_can_be_seen(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    focus = "() => document.activeElement.id || document.activeElement.textContent.trim()"
    visited = []
    for _ in range(7):
        page.keyboard.press("Tab")
        visited.append(page.evaluate(focus))
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "solid3px", visited
    assert visited == ["Skip to posting an event", "tenant", "event", "key", "send", "unstorable", "As a command"]
    page.get_by_label("As tenant").focus()
    page.keyboard.type("tenant-3")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type('{"typed": true}')
    page.keyboard.press("Control+Enter")
    expect(way(page).locator(".record dd").nth(2)).to_have_text('{"typed": true}')
    assert way(page).locator(".record dd").first.inner_text() == "tenant-3"


def test_hostile_text_stays_text(sandbox, context):
    page, seen = open_page(context, sandbox.url)
    hostile = "</script><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"
    event(page).fill(json.dumps({"name": hostile}))
    page.get_by_role("button", name="Post event").click()
    expect(way(page).locator(".record")).to_contain_text("<img src=x onerror=")
    event(page).fill(hostile)
    page.get_by_role("button", name="Post event").click()
    expect(way(page)).to_contain_text("Answer 400")
    # It is among the records that the page comes with, too.
    page.reload()
    assert page.evaluate("() => window.taken") is None
    assert page.locator("main img, main script").count() == 0
    assert seen.errors == []


def test_what_the_service_refuses_is_shown_with_its_reason(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    event(page).fill('{"order": }')
    page.get_by_role("button", name="Post event").click()
    expect(way(page).locator(".step.failed")).to_contain_text("not taken: 400")
    problem = json.loads(way(page).locator("pre").inner_text())
    assert (problem["type"], problem["status"]) == ("urn:tenant-plane:problem:body", 400)
    expect(page.locator("#said")).to_have_text(re.compile(r"^Not taken, 400: the body is not valid JSON"))


def test_a_message_that_cannot_be_stored_is_seen_to_become_a_dead_letter(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    page.get_by_label("As tenant").select_option("tenant-3")
    page.get_by_role("button", name="Send one that cannot be stored").click()
    expect(way(page).locator(".step").nth(2)).to_contain_text("in consumer-tenant-3-dlq")
    expect(way(page).locator(".step").nth(1)).to_contain_text("received 10 times")
    letter = page.locator("#letters .letter").first
    expect(letter).to_contain_text("names no tenant")
    assert "without a tenant_id" not in page.locator("#letters").inner_text()
    letter.get_by_role("button", name="Show body").press("Enter")
    expect(letter.locator("pre")).to_have_text('{"note":"sent by the console without a tenant_id, so no consumer can store it"}')
    expect(cell(page, "tenant-3", "Dead")).to_have_text("1")
    letter.get_by_role("button", name=re.compile("^Send .* back$")).press("Enter")
    expect(page.locator("#letters-title")).to_be_focused()
    expect(way(page).locator(".step").nth(2)).to_contain_text("in consumer-tenant-3-dlq")


def test_depths_and_rates_change_while_one_looks(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    tenant = "customer-5"
    assert cell(page, tenant, "Stored").inner_text() == "1"  # the sandbox's own trial
    for number in range(40):
        sandbox.post(tenant, json.dumps({"number": number}))
    expect(cell(page, tenant, "Stored")).to_have_text("41")
    assert page.locator("#landings li").count() == 12
    expect(cell(page, tenant, "a second")).to_have_text("0")  # once it is over


def test_many_tabs_share_one_stream_and_the_next_takes_over_when_its_tab_closes(sandbox, context):
    pages = [open_page(context, sandbox.url) for _ in range(9)]
    streams = [sum(url.endswith("/console/live") for url in seen.requests) for _, seen in pages]
    assert streams == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    pages[0][0].close()
    message_id = sandbox.post("customer-6", '{"after": "the first tab"}')
    for page, _ in pages[1:]:
        expect(page.locator("#landings .id").first).to_have_text(message_id)


def test_the_page_says_when_the_sandbox_has_stopped_and_does_not_hold_it_up(context):
    sandbox = Sandbox({})
    page, _ = open_page(context, sandbox.url)
    took = sandbox.stop()
    assert took < 8, took
    expect(page.locator("#connection")).to_have_text("The sandbox does not answer")
    page.get_by_role("button", name="Post event").click()
    expect(way(page).locator(".step.failed")).to_contain_text("The sandbox does not answer.")


def test_the_first_paint_does_not_wait(sandbox, context):
    page, _ = open_page(context, sandbox.url)
    page.reload()
    paint = page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime").json_value()
    # A person does not notice a quarter of a second; the rest is for a machine that does other things as well.
    assert paint < 2500, paint
    began = time.monotonic()
    assert sandbox.ask("/")[0] == 200
    assert time.monotonic() - began < 1
