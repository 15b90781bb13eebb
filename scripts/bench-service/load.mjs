// An open loop: each request is sent when its time has come, however slow the answers before it are, and its latency counts
// from that time. Generators with a fixed number of connections (autocannon, wrk) send less when the service is slow.
import { Agent, request as ask } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const agent = new Agent({ keepAlive: true, maxSockets: 512 });

/** Sends one request and reads its answer whole. @returns its status and text */
export function send(url, { method = 'GET', path, body, headers = {} }) {
  return new Promise((resolve, reject) => {
    const framed = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
    const sent = ask(new URL(path, url), { agent, method, headers: framed }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.once('error', (error) => {
      // The server closed the idle connection at the moment it was to be used again.
      if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(send(url, { method, path, body, headers }));
      else reject(error);
    });
    sent.end(body);
  });
}

/** Latencies by name, and what went wrong. */
export class Tally {
  #times = new Map();
  errors = [];

  /** Sends a request that was due at `due` (performance.now()), and notes what came of it. @returns the answer, null when it failed */
  async note(name, url, request, due = performance.now()) {
    try {
      const answer = await send(url, request);
      const list = this.#times.get(name) ?? [];
      this.#times.set(name, list);
      list.push(performance.now() - due);
      if (answer.status < 400) return answer;
      this.errors.push(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
    } catch (error) {
      this.errors.push(`${name}: ${error.message}`);
    }
    return null;
  }

  names() {
    return [...this.#times.keys()];
  }

  /** @returns how many, and the percentiles in ms, of one name, of several or of all */
  of(name) {
    const names = name === undefined ? this.names() : [name].flat();
    const times = names.flatMap((each) => this.#times.get(each) ?? []).sort((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.ceil(share * times.length) - 1)] ?? Number.NaN;
    return { count: times.length, p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

/** Has `perSecond` requests of `next()` fall due every second, evenly, until `goesOn` says no; waits for the last answer. */
export async function openLoop({ url, tally, perSecond, next, goesOn }) {
  const start = performance.now();
  const under = [];
  for (let sent = 0; goesOn(performance.now() - start); sent += 1) {
    const due = start + (sent * 1000) / perSecond;
    if (due > performance.now()) await sleep(due - performance.now());
    const { name, ...request } = next();
    under.push(tally.note(name, url, request, due));
  }
  await Promise.all(under);
}

export function show({ count, p50, p99, max }) {
  return `${count} requests, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(1)} ms`;
}
