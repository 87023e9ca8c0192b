/** The one way to ask the service. Every refusal is a problem document (RFC 9457) and becomes a {@link Problem}. */

/** One mistake in a policy, where the service found it. */
export interface Mistake {
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly cure?: string;
}

/** Why the service did not do what it was asked. */
export class Problem extends Error {
  constructor(
    /** 0 if there was no answer at all. */
    readonly status: number,
    /** A word for programs: `token_needed`, `version_conflict`, … */
    readonly reason: string,
    message: string,
    /** Everything else that the document says. */
    readonly document: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Whoever wants to know that nobody is signed in any more, and why. */
let onSignedOut: (why: Problem) => void = () => {};

export function whenSignedOut(told: (why: Problem) => void): void {
  onSignedOut = told;
}

/** What the service answers, as JSON; nothing for an answer without a body. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  return (await askWhole<T>(path, asked)).json;
}

/** The same with the version that the answer is of, by its `ETag`. */
export async function askWhole<T>(
  path: string,
  asked: Asked = {},
): Promise<{ json: T; etag: string | null }> {
  const method = asked.method ?? 'GET';
  const init: RequestInit = { method, credentials: 'same-origin', cache: 'no-store' };
  const headers: Record<string, string> = { accept: 'application/json', ...asked.headers };
  if (method === 'POST' || method === 'PUT' || asked.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(asked.body ?? {});
  }
  init.headers = headers;
  if (asked.signal) init.signal = asked.signal;
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'unreachable', 'The service does not answer. Is it running?');
  }
  const text = await answer.text();
  if (answer.ok)
    return { json: (text === '' ? undefined : JSON.parse(text)) as T, etag: answer.headers.get('etag') };
  throw problemOf(answer.status, text);
}

function problemOf(status: number, text: string): Problem {
  let document: Record<string, unknown> = {};
  try {
    document = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // Something between us and the service answered; its status says enough.
  }
  const said = (name: string): string | undefined => {
    const value = document[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const problem = new Problem(
    status,
    said('reason') ?? 'unknown',
    said('detail') ?? said('title') ?? `The service answered ${status}.`,
    document,
  );
  if (status === 401) onSignedOut(problem);
  return problem;
}

/** The query behind a path; names without a value are left out. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
