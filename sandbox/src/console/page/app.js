// The page: what there is, painted from what stands in the page itself; then what changes, as it comes.

import { byId, clock, count, el, millis, rate, say, setText } from './dom.js';
import { showLetters } from './letters.js';
import { follow } from './live.js';
import { prepareForm } from './travel.js';

const plane = JSON.parse(byId('plane').textContent);
const cells = { queues: new Map(), tenants: new Map() };
const rates = [];
const POINTS = 60;
let newest = 0;
let dead = -1;

function addresses() {
  const pairs = [['Front door', `http://${plane.front_door}`], ['AWS', plane.aws], ['Region', plane.region]];
  byId('addresses').append(...pairs.map(([name, text]) => el('div', {}, el('dt', {}, name), el('dd', { class: 'mono' }, text))));
}

function number(label, more = '') {
  return el('td', { class: `num ${more}`, role: 'cell', 'data-label': label }, '0');
}

/** A body of the table for each queue: its tenants, and beside them, once, what is the queue's. */
function tenants() {
  for (const queue of plane.queues) {
    const own = plane.tenants.filter((tenant) => tenant.queue === queue.name);
    if (own.length === 0) continue;
    const body = el('tbody', { role: 'rowgroup' });
    own.forEach((tenant, place) => {
      const stored = number('Stored');
      const storedRate = number('a second');
      cells.tenants.set(tenant.id, { stored, storedRate });
      const row = el('tr', { role: 'row' },
        el('th', { scope: 'row', role: 'rowheader', class: 'own' }, el('span', { class: 'mono' }, tenant.id)),
        el('td', { role: 'cell', class: 'its-tier', 'data-label': 'Tier' }, el('span', { class: `tier ${tenant.tier}` }, tenant.tier)),
        el('td', { role: 'cell', class: 'mono', 'data-label': 'Producer' }, tenant.producer),
        el('td', { role: 'cell', class: 'mono', 'data-label': 'Consumer' }, tenant.consumer),
        stored, storedRate);
      if (place === 0) row.append(...queueCells(queue, own.length));
      body.append(row);
    });
    byId('tenants').append(body);
  }
}

function queueCells(queue, rows) {
  const of = { waiting: number('Waiting', 'shared'), inFlight: number('In flight', 'shared'), rate: number('Sent/s', 'shared'), dead: number('Dead', 'shared') };
  cells.queues.set(queue.name, of);
  const line = (name, text) => el('div', {}, el('span', {}, name), el('span', { class: 'mono' }, text));
  const names = el('td', { class: 'queue shared', role: 'cell' }, line('queue', queue.name), line('table', queue.table));
  const all = [names, of.waiting, of.inFlight, of.rate, of.dead];
  all.forEach((cell) => cell.setAttribute('rowspan', rows));
  return all;
}

function put(cell, text, look) {
  setText(cell, text);
  for (const name of ['busy', 'bad', 'quiet']) cell.classList.toggle(name, name === look);
}

function show(state) {
  const waiting = state.queues.reduce((sum, queue) => sum + queue.waiting + queue.in_flight, 0);
  const letters = state.queues.reduce((sum, queue) => sum + queue.dead, 0);
  setText(byId('total-rate'), rate(state.rate));
  setText(byId('total-stored'), count(state.stored));
  setText(byId('total-waiting'), count(waiting));
  setText(byId('total-dead'), count(letters));
  byId('total-dead').classList.toggle('bad', letters > 0);
  const busy = (value) => (value > 0 ? 'busy' : 'quiet');
  for (const queue of state.queues) {
    const of = cells.queues.get(queue.name);
    if (!of) continue;
    put(of.waiting, count(queue.waiting), busy(queue.waiting));
    put(of.inFlight, count(queue.in_flight), busy(queue.in_flight));
    put(of.rate, rate(queue.rate), busy(queue.rate));
    put(of.dead, count(queue.dead), queue.dead > 0 ? 'bad' : 'quiet');
  }
  for (const tenant of state.tenants) {
    const of = cells.tenants.get(tenant.id);
    put(of.stored, count(tenant.stored), tenant.stored > 0 ? '' : 'quiet');
    put(of.storedRate, rate(tenant.rate), busy(tenant.rate));
  }
  landings(state.landings);
  if (letters !== dead) {
    dead = letters;
    showLetters();
  }
}

function landings(list) {
  byId('no-landings').hidden = list.length > 0;
  const first = list.length > 0 ? list[0].number : 0;
  if (first === newest) return;
  const before = newest;
  newest = first;
  byId('landings').replaceChildren(...list.map((landing) => el('li', { class: before > 0 && landing.number > before ? 'new' : null },
    el('span', { class: 'at num muted' }, clock(landing.at_ms)),
    el('span', { class: 'where' }, el('span', { class: 'mono' }, landing.tenant)),
    el('span', { class: 'took num', title: 'from the queue to the table' }, landing.took_ms === null ? '' : millis(landing.took_ms)),
    el('span', { class: 'id mono', title: landing.message_id }, landing.message_id))));
}

/** The rate of the last half minute, drawn twice a second whether it changes or not. */
function spark() {
  rates.push(Number(byId('total-rate').dataset.value || 0));
  if (rates.length > POINTS) rates.shift();
  const most = Math.max(1, ...rates);
  const points = rates.map((value, place) => `${((place + POINTS - rates.length) * 120) / (POINTS - 1)},${(30 - (value / most) * 28).toFixed(1)}`);
  byId('spark').firstElementChild.setAttribute('points', points.join(' '));
}

function connection(now) {
  const pill = byId('connection');
  const up = now === 'up';
  setText(pill, up ? 'Live' : 'The sandbox does not answer');
  pill.classList.toggle('up', up);
  pill.classList.toggle('down', !up);
}

addresses();
tenants();
prepareForm(plane);
const showAll = (state) => {
  byId('total-rate').dataset.value = state.rate;
  show(state);
};
showAll(JSON.parse(byId('state').textContent));
setInterval(spark, 500);
follow(showAll, connection);
