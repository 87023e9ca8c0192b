// Asks Tollgate about every request: admitted ones go on with RateLimit fields, the others get Tollgate's answer.
import { setTimeout as wait } from 'node:timers/promises';

const ITS_OWN = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

/**
 * url: Tollgate's HTTP door. headers: names of the fields that the policy looks at. user: who asks, if somebody is logged in.
 * timeoutMs: how long Tollgate may take. failClosed: if it does not answer, 503 instead of letting the request through.
 */
export function tollgate({ url = 'http://127.0.0.1:8080', headers = [], user = (req) => req.user?.id, timeoutMs = 250, failClosed = false } = {}) {
  const check = new URL('/v1/check', url);
  let complainedAt = 0;
  return async (req, res, next) => {
    const seen = headers.filter((name) => req.get(name) !== undefined).map((name) => [name, req.get(name)]);
    const facts = { method: req.method, path: req.originalUrl, host: req.get('host'), ip: req.ip, headers: Object.fromEntries(seen), user: user(req)?.toString() };
    let answer, body, verdict;
    try {
      // fetch keeps connections open and uses them again, once their answers have been read.
      answer = await fetch(check, { method: 'POST', body: JSON.stringify(facts), signal: AbortSignal.timeout(timeoutMs) });
      body = await answer.text();
      verdict = JSON.parse(body);
      const isAnswered = typeof verdict.admitted === 'boolean' || answer.status === 400 || answer.status === 413;
      if (!isAnswered) throw new Error(`${answer.status} ${answer.statusText}`);
    } catch (error) {
      if (Date.now() - complainedAt > 1000) { // Once a second will do.
        complainedAt = Date.now();
        console.error(`tollgate does not answer, requests are ${failClosed ? 'refused' : 'let through'}: ${error.cause?.message || error.message}`);
      }
      if (!failClosed) return next();
      return res.status(503).set('Retry-After', '1').type('application/problem+json').end('{"title":"Service Unavailable","status":503}');
    }
    const fields = [...answer.headers].filter(([name]) => !ITS_OWN.has(name) && !(verdict.admitted && name === 'content-type'));
    for (const [name, value] of fields) res.setHeader(name, value);
    if (!verdict.admitted) return res.status(answer.status).end(body);
    if (verdict.delay_ms) await wait(verdict.delay_ms); // A leaky bucket says when to go on.
    next();
  };
}
