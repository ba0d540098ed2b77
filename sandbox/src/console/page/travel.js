// Posting an event as a tenant, and the way it takes; the same for a message that cannot be stored.

import { byId, el, millis, say, setText } from './dom.js';

let under = null;

/** Reads an answer that comes in lines, and gives each to `each` as it comes. */
async function lines(response, each) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const whole = rest.split('\n');
    rest = whole.pop();
    whole.forEach((line) => each(JSON.parse(line)));
  }
}

function step(label) {
  const time = el('span', { class: 'time' }, '');
  const note = el('span', { class: 'note' }, '');
  const item = el('li', { class: 'step' }, el('b', {}, label), time, note);
  return {
    item,
    set(state, at, text) {
      item.className = `step ${state}`;
      if (at !== undefined) setText(time, at === null ? '' : millis(at));
      if (text !== undefined) setText(note, text);
    },
  };
}

/** Shows steps, the first of them reached, and follows what `request` answers. */
async function journey(title, labels, request, onStage) {
  const steps = labels.map(step);
  const more = el('div', {});
  byId('way').replaceChildren(el('p', { class: 'muted' }, title), el('ol', { class: 'steps' }, ...steps.map(({ item }) => item)), more);
  steps[0].set('done', 0);
  steps[1].set('under', null);
  const mine = Symbol('journey');
  under = mine;
  const fail = (text) => {
    const at = steps.find(({ item }) => !item.classList.contains('done')) ?? steps.at(-1);
    at.set('failed', undefined, text);
    say(text);
  };
  let ended = false;
  const buttons = [byId('send'), byId('unstorable')];
  buttons.forEach((button) => button.setAttribute('aria-disabled', 'true'));
  try {
    const response = await request();
    if (!response.ok) {
      ended = true;
      fail(await response.text());
      return;
    }
    await lines(response, (stage) => {
      if (under !== mine) return;
      if (stage.stage === 'late' || stage.stage === 'failed') {
        ended = true;
        fail(stage.text);
      } else {
        ended = onStage(stage, steps, more) || ended;
      }
    });
    if (!ended) fail('The sandbox stopped before this came to its end.');
  } catch {
    if (!ended) fail('The sandbox does not answer.');
  } finally {
    buttons.forEach((button) => button.removeAttribute('aria-disabled'));
  }
}

const post = (path, body) => fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

function postEvent(tenant, body, key) {
  const title = `An event of ${tenant}, posted at the front door.`;
  return journey(title, ['Posted', 'In the queue', 'Stored'], () => post('/console/events', { tenant, body, key: key || null }),
    (stage, [, queue, stored], more) => {
      if (stage.stage === 'answered' && stage.message_id) {
        queue.set('done', stage.ms, 'answered 200: SQS has it');
        stored.set('under', null);
      } else if (stage.stage === 'answered') {
        refused(stage, queue, more);
        return true;
      } else if (stage.stage === 'stored') {
        stored.set('done', stage.ms, `in table ${stage.table}`);
        say(`Stored after ${millis(stage.ms)}.`);
        return true;
      } else if (stage.stage === 'record') {
        more.append(record(stage.record));
      }
      return false;
    });
}

/** The service's own words: a problem, pretty-printed. */
function refused(stage, queue, more) {
  let text = stage.text;
  let title = '';
  try {
    const problem = JSON.parse(text);
    title = problem.detail ?? problem.title ?? '';
    text = JSON.stringify(problem, null, 2);
  } catch {
    title = text;
  }
  queue.set('failed', stage.ms, `not taken: ${stage.status}`);
  more.append(el('p', { class: 'record-title' }, `Answer ${stage.status}`), el('pre', { tabindex: '0', 'aria-label': 'The answer' }, text));
  say(`Not taken, ${stage.status}: ${title}`);
}

const ORDER = ['tenant_id', 'message_id', 'body', 'content_type', 'sent_at', 'timestamp', 'producer_environment', 'consumer_environment'];

function record(attributes) {
  const place = (name) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  const names = Object.keys(attributes).sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  const list = el('dl', { class: 'record' }, ...names.flatMap((name) => [el('dt', {}, name), el('dd', {}, attributes[name])]));
  return el('div', {}, el('h3', { class: 'record-title' }, 'Its record'), list);
}

const deadWay = (stage, [, received, end]) => {
  if (stage.stage === 'received') {
    received.set('under', stage.ms, stage.receives === 1 ? 'received once' : `received ${stage.receives} times`);
  } else if (stage.stage === 'dead') {
    received.set('done');
    end.set('done', stage.ms, `in ${stage.queue}`);
    say(`It is a dead letter now, after ${stage.receives} receives.`);
    return true;
  } else if (stage.stage === 'stored') {
    received.set('done');
    end.set('done', stage.ms, 'it could be stored after all');
    say('It has left the queue: it could be stored.');
    return true;
  }
  return false;
};

function postUnstorable(tenant) {
  const title = `A message that names no tenant, sent to the queue of ${tenant}. The waits between its receives (5 s, 10 s … 15 min) are skipped.`;
  return journey(title, ['Sent', 'Not storable', 'Dead letter'], () => post('/console/unstorable', { tenant }), deadWay);
}

/** A dead letter, sent back to the queue that it came from. */
export function sendBack(queue, id, source) {
  const path = `/console/letters/${encodeURIComponent(queue)}/${encodeURIComponent(id)}/send-back`;
  const title = `Dead letter ${id}, sent back to ${source}. The waits between its receives are skipped.`;
  return journey(title, ['Sent back', 'Not storable', 'The end'], () => post(path, {}), deadWay);
}

/** The request as a command for a shell; a quote inside of quotes is written as the shell wants it. */
function command(door, tenant, body, key) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const headers = [`TenantID: ${tenant}`, 'Content-Type: application/json', ...(key ? [`Idempotency-Key: ${key}`] : [])];
  return `curl http://${door}/producer \\\n${headers.map((header) => `  -H ${quoted(header)} \\\n`).join('')}  --data-binary ${quoted(body)}`;
}

export function prepareForm(plane) {
  const [select, event, key, form] = ['tenant', 'event', 'key', 'form'].map(byId);
  for (const tier of ['basic', 'advanced', 'premium']) {
    const of = plane.tenants.filter((tenant) => tenant.tier === tier);
    if (of.length > 0) select.append(el('optgroup', { label: tier }, ...of.map(({ id }) => el('option', { value: id }, id))));
  }
  const asCommand = () => setText(byId('command'), command(plane.front_door, select.value, event.value, key.value));
  [select, event, key].forEach((field) => field.addEventListener('input', asCommand));
  asCommand();
  const free = () => byId('send').getAttribute('aria-disabled') !== 'true';
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    if (free()) postEvent(select.value, event.value, key.value);
  });
  event.addEventListener('keydown', (pressed) => {
    if (pressed.key === 'Enter' && (pressed.ctrlKey || pressed.metaKey)) form.requestSubmit();
  });
  byId('unstorable').addEventListener('click', () => free() && postUnstorable(select.value));
}
