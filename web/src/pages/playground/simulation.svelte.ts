/** Asks the engine about a scene: soon after the last change, never two questions at once, and the last one wins. */

import { ask, Problem } from '../../lib/api';
import { question, type Scene } from './scene';
import { laneOf, type Lane, type Trace } from './trace';

/** How long nothing may change before the service is asked, in milliseconds. */
const QUIET_MS = 120;
/** Somebody else is simulating: how often we come back, and after how long. */
const AGAIN_MAX = 5;
const AGAIN_MS = 400;

export class Simulation {
  trace = $state.raw<Trace | null>(null);
  lanes = $state.raw<readonly Lane[]>([]);
  problem = $state.raw<Problem | null>(null);
  isBusy = $state(false);

  #soon: ReturnType<typeof setTimeout> | undefined;
  #asked: AbortController | null = null;

  /** Plays this scene, at once if nothing is shown yet. */
  play(scene: Scene): void {
    this.stop();
    this.isBusy = true;
    this.#soon = setTimeout(() => void this.#ask(scene, 1), this.trace ? QUIET_MS : 0);
  }

  /** Forgets what was asked. */
  stop(): void {
    clearTimeout(this.#soon);
    this.#asked?.abort();
    this.#asked = null;
    this.isBusy = false;
  }

  async #ask(scene: Scene, attempt: number): Promise<void> {
    const asked = new AbortController();
    this.#asked = asked;
    try {
      const body = question(scene);
      const trace = await ask<Trace>('/admin/v1/simulate', { method: 'POST', body, signal: asked.signal });
      if (asked.signal.aborted) return;
      this.trace = trace;
      this.lanes = trace.lanes.map(laneOf);
      this.problem = null;
    } catch (error) {
      if (asked.signal.aborted) return;
      if (error instanceof Problem && error.status === 503 && attempt < AGAIN_MAX) {
        this.#soon = setTimeout(() => void this.#ask(scene, attempt + 1), AGAIN_MS * attempt);
        return;
      }
      this.problem = error instanceof Problem ? error : new Problem(0, 'unknown', String(error));
    }
    this.isBusy = false;
  }
}
