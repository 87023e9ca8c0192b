/** Programs that ask the service whether somebody may pass, over real HTTP. */

import type { Server } from './server.ts';

/** What is known of a request. */
export interface Facts {
  readonly user?: string;
  readonly ip?: string;
  readonly path?: string;
  readonly method?: string;
  readonly plan?: string;
}

export interface Answer {
  readonly status: number;
  readonly remaining: number | undefined;
}

async function post(server: Server, path: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${server.http}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function decided(answer: Response): Promise<Answer> {
  const { remaining } = (await answer.json()) as { remaining?: number };
  return { status: answer.status, remaining };
}

/** One request of a client. */
export async function check(server: Server, facts: Facts): Promise<Answer> {
  return decided(await post(server, '/v1/check', facts));
}

/** What a request would be told; it costs nothing. */
export async function peek(server: Server, facts: Facts): Promise<Answer> {
  return decided(await post(server, '/v1/peek', facts));
}

/** How many of so many requests in a row are admitted. */
export async function admittedOf(server: Server, times: number, facts: Facts): Promise<number> {
  let admitted = 0;
  for (let asked = 0; asked < times; asked += 1) {
    if ((await check(server, facts)).status === 200) admitted += 1;
  }
  return admitted;
}

const EVERY_MS = 100;

/** Clients that ask ten times a second, until they are told to stop. A service that is away for a while does not stop them. */
export class Traffic {
  #timer: ReturnType<typeof setInterval>;

  constructor(
    server: Server,
    /** Whoever asks every tenth of a second. */
    public checks: readonly Facts[],
  ) {
    this.#timer = setInterval(() => {
      if (this.checks.length === 0) return;
      post(server, '/v1/check/batch', { checks: this.checks }).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      );
    }, EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** So many of the same. */
export function times<T>(count: number, one: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => one(at));
}
