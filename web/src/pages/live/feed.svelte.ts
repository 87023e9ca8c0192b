/**
 * What the live page shows: history first, then the events of the stream. After every break (a lost connection, a hidden page, a pause)
 * history fills the gap. Pausing lets go of the stream, so that a paused page costs the service nothing.
 */

import { ask, Problem, query } from '../../lib/api';
import { listen } from '../../lib/stream.svelte';
import type { Change, History, Rates, ViolationEvent } from '../../lib/types';
import { CHANGES_LISTED_MAX } from './changes';
import { Timeline } from './timeline';
import { merged } from './violations';

/** Seconds over which the mode of the store is taken together. */
const STORE_SECONDS = 10;

export interface HeardChange {
  readonly atMs: number;
  readonly change: Change;
  readonly number: number;
}

export class Feed {
  #timeline = new Timeline();
  /** Moves with every second, and with history: whoever reads the timeline is told. */
  #moved = $state(0);
  #recent = $state.raw<readonly Rates[]>([]);
  #violations = $state.raw<readonly ViolationEvent[]>([]);
  #violationsLeftOut = $state(0);
  #changes = $state.raw<readonly HeardChange[]>([]);
  #isPaused = $state(false);
  #isLoaded = $state(false);
  #historyMissing = $state('');
  #violationsMissing = $state.raw<Problem | null>(null);

  #seconds: number;
  #loadedSeconds = 0;
  /** Events that came while history was being asked for. */
  #waiting: Rates[] | null = null;
  #fresh: ViolationEvent[] = [];
  #stopListening: (() => void) | null = null;
  #asking = new AbortController();

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  get timeline(): Timeline {
    void this.#moved;
    return this.#timeline;
  }
  get latest(): Rates | undefined {
    return this.#recent.at(-1);
  }
  /** The last few seconds. */
  get recent(): readonly Rates[] {
    return this.#recent;
  }
  get violations(): readonly ViolationEvent[] {
    return this.#violations;
  }
  /** How many there were that the service did not tell one by one. */
  get violationsLeftOut(): number {
    return this.#violationsLeftOut;
  }
  /** Why the log of violations cannot be read, if so. */
  get violationsMissing(): Problem | null {
    return this.#violationsMissing;
  }
  get changes(): readonly HeardChange[] {
    return this.#changes;
  }
  get isPaused(): boolean {
    return this.#isPaused;
  }
  /** Whether there is anything to show yet. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }
  /** Why the past is not shown; empty if it is. */
  get historyMissing(): string {
    return this.#historyMissing;
  }

  start(): void {
    this.#isPaused = false;
    this.#stopListening ??= listen({
      hello: () => void this.#catchUp(),
      rates: (rates) => this.#hear(rates),
      violation: (violation) => void this.#fresh.push(violation),
      change: (change) => this.#note(change),
    });
  }

  /** Lets go of everything; {@link start} takes it up again. */
  stop(): void {
    this.#stopListening?.();
    this.#stopListening = null;
    this.#asking.abort();
    this.#waiting = null;
  }

  pause(): void {
    this.stop();
    this.#isPaused = true;
  }

  /** Shows so many seconds; asks for more of the past where it is not known. */
  show(seconds: number): void {
    this.#seconds = seconds;
    if (seconds > this.#loadedSeconds && !this.#isPaused && this.#isLoaded) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    this.#asking.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#waiting ??= [];
    const [seconds, { signal }] = [this.#seconds, asking];
    const violations = this.#loadViolations(signal);
    try {
      const history = await ask<History>(`/admin/v1/history${query({ seconds })}`, { signal });
      this.#timeline.load(history);
      this.#loadedSeconds = seconds;
      this.#historyMissing = '';
      this.#isLoaded = true;
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#historyMissing = error instanceof Problem ? error.message : String(error);
    }
    const waited = this.#waiting ?? [];
    this.#waiting = null;
    for (const rates of waited) this.#timeline.add(rates);
    this.#moved += 1;
    await violations;
  }

  async #loadViolations(signal: AbortSignal): Promise<void> {
    try {
      const path = `/admin/v1/violations${query({ limit: 50 })}`;
      const { violations } = await ask<{ violations: ViolationEvent[] }>(path, { signal });
      this.#violations = merged(this.#violations, violations);
      this.#violationsMissing = null;
    } catch (error) {
      if (error instanceof Problem) this.#violationsMissing = error;
    }
  }

  #hear(rates: Rates): void {
    this.#recent = [...this.#recent, rates].slice(-STORE_SECONDS);
    this.#isLoaded = true;
    if (this.#waiting) this.#waiting.push(rates);
    else this.#timeline.add(rates);
    // Once a second, however many there are.
    this.#violations = merged(this.#violations, this.#fresh);
    this.#fresh = [];
    this.#violationsLeftOut += rates.violations_left_out;
    this.#moved += 1;
  }

  #note(change: Change): void {
    const number = (this.#changes[0]?.number ?? 0) + 1;
    const heard = { atMs: Date.now(), change, number };
    this.#changes = [heard, ...this.#changes].slice(0, CHANGES_LISTED_MAX);
  }
}
