// Express middleware that asks Tollgate about every request. Admitted requests go on, with RateLimit fields; the others get
// Tollgate's reply. A request is let through without a verdict only if Tollgate is unreachable or does not reply in time, and not
// even then with `failClosed`.
import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

const CONNECTIONS_MAX = 64; // Checks at the same time, each on a connection of its own.
const WAITING_MAX = 256; // Requests that wait for one of these connections. Further requests get 503.
const DENIALS_MAX = 4096; // Denials that are remembered.
const DENIAL_MS_MAX = 1000; // A denial is remembered for its wait, and at most for so long.
const REPLY_BYTES_MAX = 64 * 1024;
const NO_ADDRESS = '0.0.0.0'; // Stands for every peer without an IP address, such as a Unix socket. They are one client.
const NOT_TOLD = new Set(['connection', 'content-length', 'date', 'keep-alive', 'tollgate-status', 'transfer-encoding']);
const OWN_ERRORS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** Tollgate is unreachable or too slow. */
class Unreachable extends Error {}

/**
 * url: the http listener of Tollgate. headers: names of the request fields that the policy looks at. user: the user of a request, as
 * text or a number, if there is one. timeoutMs: how long Tollgate may take to reply to a check that was sent. failClosed: requests
 * get 503 then, instead of being let through.
 */
export function tollgate({ url = 'http://127.0.0.1:8080', headers = [], user = (req) => req.user?.id, timeoutMs = 1000, failClosed = false } = {}) {
  const check = new URL('/v1/check', url);
  const client = check.protocol === 'https:' ? https : http;
  const agent = new client.Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const denials = new Map();
  let [open, complainedAt] = [0, -Infinity];

  /** Sends a check. The time starts when it has a connection, not while it waits for one. */
  function ask(body) {
    return new Promise((resolve, reject) => {
      let timer;
      const end = (settle, result) => { clearTimeout(timer); settle(result); };
      const options = { method: 'POST', agent, headers: { 'content-length': Buffer.byteLength(body) } };
      const request = client.request(check, options, (reply) => {
        const [parts, isTollgate] = [[], 'tollgate-status' in reply.headers];
        let bytes = 0;
        reply.on('data', (part) => {
          bytes += part.length;
          if (bytes > REPLY_BYTES_MAX) request.destroy(new TypeError('the reply is too long'));
          else parts.push(part);
        });
        reply.on('error', (error) => end(reject, isRefusal(error) ? error : new Unreachable(error.message)));
        reply.on('end', () => {
          if (!isTollgate && [502, 503, 504].includes(reply.statusCode)) return end(reject, new Unreachable(`a proxy before tollgate replied ${reply.statusCode}`));
          if (!isTollgate) return end(reject, new TypeError('the reply has no field tollgate-status'));
          end(resolve, { status: reply.statusCode, fields: reply.headers, body: Buffer.concat(parts) });
        });
      });
      request.on('error', (error) => {
        // Tollgate closed a kept connection at the moment when this check was sent: once more.
        if (request.reusedSocket && error.code === 'ECONNRESET') return ask(body).then((reply) => end(resolve, reply), (late) => end(reject, late));
        end(reject, isRefusal(error) ? error : new Unreachable(error.message || error.code));
      });
      request.on('socket', () => {
        // Node runs timers before it reads: a reply that has arrived is read before setImmediate.
        const giveUp = () => setImmediate(() => request.destroy(new Error(`no reply within ${timeoutMs} ms`)));
        timer = setTimeout(giveUp, timeoutMs);
      });
      request.end(body);
    });
  }

  /** The remembered denial of the same facts. */
  function denied(key) {
    const denial = denials.get(key);
    if (denial && denial.until > performance.now()) return denial;
    denials.delete(key);
  }

  /** Returns Tollgate's reply, or a remembered denial of the same facts. */
  async function decide(body) {
    const key = createHash('sha256').update(body).digest('base64');
    const denial = denied(key);
    if (denial) return denial;
    if (open >= CONNECTIONS_MAX + WAITING_MAX) throw new RangeError(`${WAITING_MAX} requests already wait for a check`);
    open += 1;
    try {
      const reply = await ask(body);
      reply.verdict = JSON.parse(reply.body);
      reply.admitted = reply.verdict.admitted === true;
      const waitMs = Math.min(reply.verdict.retry_after_ms ?? 0, DENIAL_MS_MAX);
      if (!reply.admitted && waitMs > 0) {
        reply.until = performance.now() + waitMs;
        if (denials.size >= DENIALS_MAX) denials.delete(denials.keys().next().value);
        denials.set(key, reply);
      }
      return reply;
    } finally {
      open -= 1;
    }
  }

  return async (req, res, next) => {
    // A TCP peer without an address has closed the connection. It would count as another client.
    const { socket } = req;
    if (socket.destroyed || (socket.remoteAddress === undefined && socket.localAddress !== undefined)) return socket.destroy();
    // A field that was sent twice is two values: Tollgate must not choose another one than the application.
    const sent = headers.map((name) => [name, req.headersDistinct[name.toLowerCase()]]).filter(([, values]) => values);
    const facts = { method: req.method, path: path(req), host: req.get('host'), ip: address(req.ip), headers: Object.fromEntries(sent), user: user(req)?.toString() };
    let reply;
    try {
      reply = await decide(JSON.stringify(facts));
    } catch (error) {
      const isOpen = error instanceof Unreachable && !failClosed;
      if (performance.now() - complainedAt > 1000) { // Once a second is enough.
        complainedAt = performance.now();
        const what = error instanceof Unreachable ? 'tollgate unreachable' : 'no verdict of tollgate';
        console.error(`${what}, requests ${isOpen ? 'let through' : 'refused'}: ${error.message}`);
      }
      if (isOpen) return next();
      return res.status(503).set({ 'Retry-After': '1', 'Cache-Control': 'no-store' }).type('application/problem+json').end('{"title":"Service Unavailable","status":503}');
    }
    const fields = Object.entries(reply.fields).filter(([name]) => !NOT_TOLD.has(name) && !(reply.admitted && name === 'content-type'));
    for (const [name, value] of fields) res.setHeader(name, value);
    if (!reply.admitted) return res.status(reply.status).end(reply.body);
    if (reply.verdict.delay_ms) await wait(reply.verdict.delay_ms); // A leaky bucket says when to go on.
    next();
  };
}

/**
 * Whether something replied that is not Tollgate (HPE are the errors of Node's HTTP parser), or the application has no files, ports or
 * memory left for a connection: a flood can cause that.
 */
function isRefusal(error) {
  return error instanceof TypeError || error.code?.startsWith('HPE_') || OWN_ERRORS.has(error.code);
}

/**
 * `http://host/path` is `/path`, as Express routes it, if the host is that of the Host field. Tollgate refuses other targets that are
 * no paths with 400.
 */
function path(req) {
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(\/.*)?$/i.exec(req.originalUrl) ?? [];
  return authority !== undefined && authority.toLowerCase() === req.get('host')?.toLowerCase() ? rest ?? '/' : req.originalUrl;
}

/** The peer's IP address without a zone, or NO_ADDRESS. */
function address(ip = '') {
  const [bare] = ip.split('%');
  return isIP(bare) ? bare : NO_ADDRESS;
}
