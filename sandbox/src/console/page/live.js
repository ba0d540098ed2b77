// The stream of states. A browser opens only six connections to an address, so the tabs of one share a stream: the tab that has
// the lock holds it and passes on what comes; when it closes, the next one has the lock.

const NAME = 'tenant-plane-console';
const AGAIN_MS = 2000;

/** Calls `onState` with each new state and `onConnection` with 'up' or 'down', in every tab. */
export function follow(onState, onConnection) {
  const channel = new BroadcastChannel(NAME);
  let leads = false;
  let last = null;
  let connection = null;

  const deliver = (message) => {
    if (message.state) onState(message.state);
    if (message.connection) onConnection(message.connection);
  };
  const tell = (message) => {
    if (message.state) last = message.state;
    if (message.connection) connection = message.connection;
    deliver(message);
    channel.postMessage(message);
  };
  channel.onmessage = ({ data }) => {
    if (data.hello) {
      if (leads) channel.postMessage({ state: last, connection });
    } else {
      deliver(data);
    }
  };

  const open = () => {
    const source = new EventSource('/console/live');
    source.addEventListener('open', () => tell({ connection: 'up' }));
    source.addEventListener('state', ({ data }) => tell({ state: JSON.parse(data) }));
    const again = () => {
      source.close();
      tell({ connection: 'down' });
      setTimeout(open, AGAIN_MS);
    };
    source.addEventListener('error', again);
    source.addEventListener('end', again);
  };
  const lead = () => {
    leads = true;
    open();
  };
  channel.postMessage({ hello: true });
  if (navigator.locks) {
    // Held for as long as the tab is there.
    navigator.locks.request(NAME, () => new Promise(lead));
  } else {
    lead();
  }
}
