// Dead letters: each queue's newest, without bodies until one asks.

import { byId, clock, el } from './dom.js';
import { sendBack } from './travel.js';

const shown = new Map();

/** Reads the letters anew. What is open stays open. */
export async function showLetters() {
  let queues;
  try {
    const response = await fetch('/console/letters');
    if (!response.ok) return;
    ({ queues } = await response.json());
  } catch {
    return; // The pill at the top says that nothing answers.
  }
  const full = queues.filter(({ letters }) => letters.length > 0);
  byId('no-letters').hidden = full.length > 0;
  const kept = new Set(full.flatMap(({ queue, letters }) => letters.map(({ id }) => `${queue}/${id}`)));
  [...shown.keys()].filter((key) => !kept.has(key)).forEach((key) => shown.delete(key));
  const held = document.activeElement;
  byId('letters').replaceChildren(...full.map(({ queue, source, count, letters }) => el('div', { class: 'letters-of' },
    el('h3', {}, `${queue} `, el('span', { class: 'muted num' }, count > letters.length ? `${letters.length} newest of ${count}` : `${count}`)),
    el('ul', {}, ...letters.map((letter) => item(queue, source, letter))))));
  // Elements that were moved lose the focus.
  if (held && held !== document.activeElement && byId('letters').contains(held)) held.focus();
}

function item(queue, source, letter) {
  const key = `${queue}/${letter.id}`;
  if (!shown.has(key)) shown.set(key, made(queue, letter.source ?? source, letter));
  return shown.get(key);
}

function made(queue, source, letter) {
  const from = letter.tenant === null ? 'names no tenant' : `of ${letter.tenant}`;
  const body = el('pre', { hidden: true, tabindex: '0', 'aria-label': `Body of ${letter.id}` });
  const show = el('button', { type: 'button', class: 'small', 'aria-expanded': 'false', onclick: () => toggle(queue, letter.id, show, body) }, 'Show body');
  const back = el('button', {
    type: 'button', class: 'small', 'aria-label': `Send ${letter.id} back`,
    onclick: () => {
      byId('letters-title').focus();
      sendBack(queue, letter.id, source);
    },
  }, 'Send back');
  return el('li', { class: 'letter' },
    el('div', { class: 'top' }, el('span', { class: 'mono' }, letter.id), show, back),
    el('p', { class: 'muted num' }, `${clock(letter.sent_ms)} · ${letter.bytes} bytes · ${from}`),
    body);
}

async function toggle(queue, id, button, body) {
  const open = body.hidden;
  if (open && body.textContent === '') {
    const response = await fetch(`/console/letters/${encodeURIComponent(queue)}/${encodeURIComponent(id)}`).catch(() => null);
    if (!response) return;
    if (response.ok) {
      const letter = await response.json();
      const attributes = Object.entries(letter.attributes).map(([name, value]) => `${name}: ${value}`);
      body.textContent = [...attributes, letter.body].join('\n');
    } else {
      body.textContent = await response.text();
    }
  }
  body.hidden = !open;
  button.setAttribute('aria-expanded', String(open));
  button.textContent = open ? 'Hide body' : 'Show body';
}
