// Elements, made of text alone: what events, ids and answers say is never read as markup.

/** An element with attributes and children (elements or texts). `class` and `on…` as everywhere. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Changes a text only when it differs, so that nothing is laid out anew or read aloud for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Says something to whoever listens to the page instead of looking at it. */
export function say(text) {
  const said = byId('said');
  said.textContent = '';
  // Emptied first: the same words twice are said twice.
  setTimeout(() => { said.textContent = text; }, 60);
}

const whole = new Intl.NumberFormat('en');
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (number) => whole.format(number);
export const rate = (number) => (number === 0 ? '0' : number < 100 ? tenths.format(number) : whole.format(Math.round(number)));
export const millis = (number) => `${number < 100 ? tenths.format(number) : whole.format(Math.round(number))} ms`;

/** A time of day of this machine, to the second. */
export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
