/** The events of the service, as they happen. One stream for the whole page; it pauses while nobody looks, and comes back by itself. */

import type { Change, Rates, ViolationEvent } from './types';

export type StreamState = 'connecting' | 'live' | 'paused' | 'lost';

interface Listener {
  rates?: (rates: Rates) => void;
  violation?: (violation: ViolationEvent) => void;
  change?: (change: Change) => void;
}

/** How long to wait before asking again, in milliseconds: doubled each time, up to the most. */
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 15_000;

let state = $state<StreamState>('connecting');
const listeners = new Set<Listener>();
let source: EventSource | null = null;
let again: ReturnType<typeof setTimeout> | undefined;
let againMs = AGAIN_FIRST_MS;

export const stream = {
  get state(): StreamState {
    return state;
  },
};

/** Listens until the function that it gives is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
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
  state = 'connecting';
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
    again = setTimeout(open, againMs);
    againMs = Math.min(againMs * 2, AGAIN_MAX_MS);
  };
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
