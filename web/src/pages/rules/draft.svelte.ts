/**
 * A rule that somebody is changing: what they type, what the service thinks of it, and what it would replace.
 *
 *     typing ─► validated as they type ─► review against what is in force ─► applied, or somebody was faster
 */

import { Problem } from '../../lib/api';
import {
  apply,
  propose,
  ruleText,
  validate,
  type Proposal,
  type RuleText,
  type Version,
} from '../../lib/rules';
import { placedByField, readMistake, type Mistake } from './editor/mistakes';

export type Judgement = 'asking' | 'sound' | 'unsound' | 'unknown';

/** What would be applied. */
export interface Review {
  /** What is in force now; empty for a new rule. */
  readonly before: string;
  /** What would be, in the form that is kept. */
  readonly after: string;
  readonly name: string;
  /** The version that this was compared with. */
  readonly version: number;
}

export class Draft {
  text = $state('');
  judgement = $state<Judgement>('asking');
  mistakes = $state.raw<readonly Mistake[]>([]);
  notes = $state.raw<readonly string[]>([]);
  /** Why the service could not judge. */
  problem = $state.raw<unknown>(null);
  review = $state.raw<Review | null>(null);
  /** What somebody else put there meanwhile. */
  theirs = $state.raw<RuleText | null>(null);
  #base = $state.raw<RuleText | null>(null);
  #asking: AbortController | null = null;

  /** Of a rule that there is, or of a new one. */
  constructor(base: RuleText | null, text: string) {
    this.#base = base;
    this.text = text;
  }

  get base(): RuleText | null {
    return this.#base;
  }

  get isChanged(): boolean {
    return this.#base === null || this.text !== this.#base.text;
  }

  /** Asks the service what it thinks of the text; only the last answer counts. */
  async judge(): Promise<void> {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const text = this.text;
    const outcome = await judged(this.#proposal(text), text, asking.signal);
    if (asking.signal.aborted || outcome === null) return;
    this.judgement = outcome.judgement;
    this.mistakes = outcome.mistakes;
    this.notes = outcome.notes;
    this.problem = outcome.problem;
  }

  /** Compares with what is in force now. If somebody else has changed the rule since it was read, it says so instead. */
  async compare(): Promise<void> {
    const name = this.#base?.name;
    const current = name === undefined ? null : await ruleText(name);
    if (current && current.text !== this.#base?.text) {
      this.theirs = current;
      return;
    }
    if (current) this.#base = current;
    const proposed = await propose(this.#proposal(this.text));
    const entry = proposed.entries.added[0] ?? proposed.entries.changed[0]?.after;
    const replaced = proposed.entries.changed[0]?.before.text;
    this.review = {
      before: current?.text ?? replaced ?? '',
      after: entry?.text ?? current?.text ?? this.text,
      name: entry?.name ?? name ?? '',
      version: proposed.version,
    };
  }

  /** Puts it in force. Others may have changed other rules since the review: that is no conflict of ours. */
  async apply(comment: string): Promise<Version> {
    const review = this.review;
    if (!review) throw new Error('there is nothing to apply');
    try {
      return await apply(this.#proposal(this.text), review.version, comment);
    } catch (error) {
      if (!(error instanceof Problem && error.reason === 'version_conflict')) throw error;
      await this.compare();
      if (this.theirs) {
        this.review = null;
        throw error;
      }
      return await apply(this.#proposal(this.text), this.review?.version ?? review.version, comment);
    }
  }

  /** Goes on from what somebody else has put there: with our text, or with theirs. */
  settle(keep: 'ours' | 'theirs'): void {
    const theirs = this.theirs;
    if (!theirs) return;
    this.#base = theirs;
    this.theirs = null;
    this.review = null;
    if (keep === 'theirs') this.text = theirs.text ?? '';
  }

  #proposal(text: string): Proposal {
    const base = this.#base;
    return {
      name: base?.name,
      text,
      active: base?.active ?? true,
      description: base?.description ?? null,
    };
  }
}

interface Outcome {
  readonly judgement: Judgement;
  readonly mistakes: readonly Mistake[];
  readonly notes: readonly string[];
  readonly problem: unknown;
}

/** Nothing, if it was called off. */
async function judged(proposal: Proposal, text: string, signal: AbortSignal): Promise<Outcome | null> {
  const none = { mistakes: [], notes: [], problem: null };
  try {
    const { valid, mistakes, notes } = await validate(proposal, signal);
    if (valid) return { ...none, judgement: 'sound', notes };
    return { ...none, judgement: 'unsound', mistakes: placedByField(mistakes.map(readMistake), text) };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof Problem)) throw error;
    const told = error.document.mistakes;
    if (Array.isArray(told))
      return { ...none, judgement: 'unsound', mistakes: told.map((line) => readMistake(String(line))) };
    if (error.status !== 400) return { ...none, judgement: 'unknown', problem: error };
    const mistakes = placedByField([{ ...readMistake(error.message), field: 'name' }], text);
    return { ...none, judgement: 'unsound', mistakes };
  }
}
