/** The places of rules in their table, kept while somebody reads: figures move on, rows stay where they are. */

import { inOrder, type RuleRow } from './ranking';

export interface Held {
  /** Somebody reads: nothing moves. */
  readonly isHeld: boolean;
  /** How often places may change. */
  readonly everySeconds: number;
}

export class Places {
  #asked = '';
  #at = 0;
  #names: readonly string[] = [];

  /**
   * The rows in their places. `ranked` is how they would stand now, `asked` what for (another question gives places anew), `now` the time
   * in seconds.
   */
  give(ranked: readonly RuleRow[], asked: string, now: number, held: Held): readonly RuleRow[] {
    const isDue = !held.isHeld && Math.abs(now - this.#at) >= held.everySeconds;
    if (asked !== this.#asked || isDue) {
      this.#asked = asked;
      this.#at = now;
      this.#names = ranked.map((row) => row.name);
    }
    return inOrder(ranked, this.#names);
  }
}
