/** One client's buckets, asked for again and again while somebody looks. */

import { Problem } from '../../lib/api';
import { buckets, isSpentFrom, rulesFor, type LookedAt } from '../../lib/clients';
import type { ClientOrder } from '../../lib/orders';
import { rulesInForce } from '../../lib/rules';

/** How often the service is asked, in milliseconds. */
const EVERY_MS = 1_500;

export interface Answer extends LookedAt {
  /** When it came, by `performance.now()`. */
  readonly saidAt: number;
  /** For each bucket, whether tokens were spent since the answer before. */
  readonly spent: readonly boolean[];
}

export class Watch {
  /** One for each rule under which the key has buckets. `null` until the first answer. */
  answers = $state.raw<readonly Answer[] | null>(null);
  orders = $state.raw<readonly ClientOrder[]>([]);
  problem = $state.raw<unknown>(null);
  #rules: readonly string[] | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(
    readonly key: string,
    /** Of one rule; without it, of every rule that takes such a key. */
    readonly rule: string | undefined,
  ) {}

  start(): () => void {
    const seen = (): void => {
      if (!document.hidden) void this.look();
    };
    document.addEventListener('visibilitychange', seen);
    void this.look();
    return () => {
      this.#isOver = true;
      clearTimeout(this.#timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }

  /** Asks now, and again in a while. */
  async look(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#isOver || document.hidden) return;
    try {
      const known = this.#rules;
      const rules = known ?? (this.rule === undefined ? await this.#candidates() : [this.rule]);
      const told = await Promise.all(rules.map((rule) => this.#ask(rule)));
      const answers = told.filter((answer) => answer !== null);
      // Those that have seen the client come first; the order stays, so that nothing jumps.
      if (known === null) answers.sort((a, b) => Number(isSeen(b)) - Number(isSeen(a)));
      this.#rules = answers.map(({ rule }) => rule);
      this.answers = answers;
      this.orders = ordersOf(answers);
      this.problem = null;
    } catch (error) {
      this.problem = error;
      this.#rules = null;
    }
    if (!this.#isOver) this.#timer = setTimeout(() => void this.look(), EVERY_MS);
  }

  async #candidates(): Promise<string[]> {
    return rulesFor(this.key, (await rulesInForce()).rules).map(({ name }) => name);
  }

  /** Nothing, if the key is none of that rule's; where a rule was asked for, that is told. */
  async #ask(rule: string): Promise<Answer | null> {
    try {
      const told = await buckets(rule, this.key);
      const saidAt = performance.now();
      const last = this.answers?.find((answer) => answer.rule === rule);
      const spent = told.buckets.map((bucket, at) => {
        const before = last?.buckets[at];
        return (
          last !== undefined && before !== undefined && isSpentFrom(before, bucket, saidAt - last.saidAt)
        );
      });
      return { ...told, saidAt, spent };
    } catch (error) {
      const isNone =
        error instanceof Problem && ['bad_key', 'no_buckets', 'unknown_rule'].includes(error.reason);
      if (isNone && this.rule === undefined) return null;
      throw error;
    }
  }
}

/** Those of all answers, each once: a block is told under every rule. */
function ordersOf(answers: readonly Answer[]): ClientOrder[] {
  const all = answers.flatMap(({ rule, orders }) =>
    orders.map((order): ClientOrder => (order.kind === 'override' ? { ...order, rule } : order)),
  );
  return [...new Map(all.map((order) => [order.order_id, order])).values()];
}

function isSeen({ buckets }: Answer): boolean {
  return buckets.some(({ exists }) => exists);
}
