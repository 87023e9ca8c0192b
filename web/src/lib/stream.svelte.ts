/** The events of the service, as they happen. One stream for the whole page; it pauses while nobody looks, and comes back by itself. */

import { ask, Problem } from './api';
import type { Change, Rates, ViolationEvent } from './types';

export type StreamState = 'connecting' | 'live' | 'paused' | 'lost';

/** Why there is no stream: nobody answers, or the service answers and gives none (each token has a few at a time). */
export type Lost = 'unreachable' | 'refused';

interface Listener {
  /** The stream began, for the first time or again: what happened before was not told. */
  hello?: () => void;
  rates?: (rates: Rates) => void;
  violation?: (violation: ViolationEvent) => void;
  change?: (change: Change) => void;
}

/** How long to wait before asking again, in milliseconds: doubled each time, up to the most. */
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 15_000;

let state = $state<StreamState>('connecting');
let why = $state<Lost>('unreachable');
const listeners = new Set<Listener>();
let source: EventSource | null = null;
let again: ReturnType<typeof setTimeout> | undefined;
let againMs = AGAIN_FIRST_MS;

export const stream = {
  get state(): StreamState {
    return state;
  },
  /** Why it is lost, while it is. */
  get why(): Lost {
    return why;
  },
};

/** Listens until the function that it gives is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  if (state === 'live') listener.hello?.();
  open();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) close('connecting');
  };
}

function open(): void {
  if (source || listeners.size === 0) return;
  clearTimeout(again);
  if (document.hidden) {
    state = 'paused';
    return;
  }
  // What was lost stays lost until the stream is back.
  if (state !== 'lost') state = 'connecting';
  const opened = new EventSource('/admin/v1/events');
  source = opened;
  const tell = <T>(name: string, how: (listener: Listener, told: T) => void): void => {
    opened.addEventListener(name, (event: MessageEvent<string>) => {
      const told = JSON.parse(event.data) as T;
      for (const listener of listeners) how(listener, told);
    });
  };
  opened.addEventListener('hello', () => {
    state = 'live';
    againMs = AGAIN_FIRST_MS;
    for (const listener of listeners) listener.hello?.();
  });
  tell<Rates>('rates', (listener, told) => listener.rates?.(told));
  tell<ViolationEvent>('violation', (listener, told) => listener.violation?.(told));
  tell<Change>('change', (listener, told) => listener.change?.(told));
  // A stream lasts ten minutes; after its `bye` we come back at once.
  opened.addEventListener('bye', () => {
    close('connecting');
    open();
  });
  opened.onerror = () => {
    close('lost');
    void askWhy();
    again = setTimeout(open, againMs);
    againMs = Math.min(againMs * 2, AGAIN_MAX_MS);
  };
}

/** A stream does not say why it failed; an ordinary question does, and shows the sign-in if that is why. */
async function askWhy(): Promise<void> {
  try {
    await ask('/admin/v1/whoami');
    why = 'refused';
  } catch (error) {
    why = error instanceof Problem && error.status === 0 ? 'unreachable' : 'refused';
  }
}

function close(next: StreamState): void {
  clearTimeout(again);
  source?.close();
  source = null;
  state = next;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    if (listeners.size > 0) close('paused');
  } else {
    againMs = AGAIN_FIRST_MS;
    open();
  }
});
