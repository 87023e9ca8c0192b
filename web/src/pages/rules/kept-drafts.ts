/**
 * What somebody typed and has not applied: it outlives the editor, a reload and the end of the session, for as long as the tab is open.
 * Never in the local storage, where others who use this browser would find it.
 */

import type { RuleText } from '../../lib/rules';

/** Those that were changed longest ago give way. */
export const DRAFTS_MAX = 20;
const STORED = 'tollgate.drafts';

export interface KeptDraft {
  /** What it is a change of, as it was then; `null` for a new rule. */
  readonly base: RuleText | null;
  readonly text: string;
  /** When it was changed last, in milliseconds since 1970. */
  readonly atMs: number;
}

/** By the name of the rule or group; the one new rule has none. */
type Named = readonly [name: string, draft: KeptDraft];
const NEW = '';

export class KeptDrafts {
  /** Oldest first. */
  #drafts: Map<string, KeptDraft>;
  #isStored = true;

  /** The storage may be forbidden, and then already says so when it is asked for. */
  constructor(private readonly storage: () => Pick<Storage, 'getItem' | 'setItem'>) {
    this.#drafts = new Map(this.#read());
  }

  /** Whether a reload would bring them all back. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** Of a rule; without a name, of the new one. */
  of(name = NEW): KeptDraft | undefined {
    return this.#drafts.get(name);
  }

  keep(base: RuleText | null, text: string, nowMs: number): void {
    const name = base?.name ?? NEW;
    const known = this.#drafts.get(name);
    if (known && known.text === text && known.base?.text === base?.text) return;
    this.#drafts.delete(name);
    this.#drafts.set(name, { base, text, atMs: nowMs });
    for (const oldest of [...this.#drafts.keys()].slice(0, -DRAFTS_MAX)) this.#drafts.delete(oldest);
    this.#write();
  }

  forget(name = NEW): void {
    if (this.#drafts.delete(name)) this.#write();
  }

  #write(): void {
    try {
      this.storage().setItem(STORED, JSON.stringify([...this.#drafts]));
      this.#isStored = true;
    } catch {
      this.#isStored = false;
    }
  }

  #read(): Named[] {
    try {
      const stored: unknown = JSON.parse(this.storage().getItem(STORED) ?? '[]');
      return Array.isArray(stored) ? stored.filter(isNamed).slice(-DRAFTS_MAX) : [];
    } catch {
      return [];
    }
  }
}

/** Another version of this page may have written something else. */
function isNamed(stored: unknown): stored is Named {
  if (!Array.isArray(stored)) return false;
  const [name, draft] = stored as [unknown, Partial<Record<keyof KeptDraft, unknown>> | null | undefined];
  if (typeof draft?.text !== 'string' || typeof draft.atMs !== 'number') return false;
  const base = draft.base as Partial<RuleText> | null | undefined;
  return name === (base === null ? NEW : base?.name);
}

export const keptDrafts = new KeptDrafts(() => sessionStorage);
