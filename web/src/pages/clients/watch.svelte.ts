/** One client's buckets, asked for again and again while somebody looks. */

import { Problem } from '../../lib/api';
import { buckets, isAbout, rulesFor, type Buckets } from '../../lib/clients';
import { orders, type Order } from '../../lib/orders';
import { rulesInForce } from '../../lib/rules';

/** How often the service is asked, in milliseconds. */
const EVERY_MS = 1_500;
/** How often it is asked for the list of all orders, where it does not tell a client's own. */
const ORDERS_EVERY_MS = 6_000;

export interface Answer extends Buckets {
  /** When it came, by `performance.now()`. */
  readonly saidAt: number;
}

export class Watch {
  /** One for each rule under which the key has buckets. `null` until the first answer. */
  answers = $state.raw<readonly Answer[] | null>(null);
  orders = $state.raw<readonly Order[]>([]);
  problem = $state.raw<unknown>(null);
  #rules: readonly string[] | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  /** When all orders are asked for next, by `performance.now()`. */
  #ordersDue = 0;

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

  /** Something was done: what is known of orders may be wrong. */
  lookAgain(): void {
    if (this.#ordersDue !== Infinity) this.#ordersDue = 0;
    void this.look();
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
      this.orders = await this.#orders(answers);
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
      return { ...(await buckets(rule, this.key)), saidAt: performance.now() };
    } catch (error) {
      const isNone =
        error instanceof Problem && ['bad_key', 'no_buckets', 'unknown_rule'].includes(error.reason);
      if (isNone && this.rule === undefined) return null;
      throw error;
    }
  }

  /** As the service tells them with the buckets; from an older one, out of the list of all. */
  async #orders(answers: readonly Answer[]): Promise<readonly Order[]> {
    if (answers.some((answer) => answer.orders !== undefined)) {
      const all = answers.flatMap((answer) => answer.orders ?? []);
      return [...new Map(all.map((order) => [order.order_id, order])).values()];
    }
    if (performance.now() < this.#ordersDue) return this.orders;
    this.#ordersDue = performance.now() + ORDERS_EVERY_MS;
    try {
      const standing = (await orders({ limit: 1_000 })).orders;
      return standing.filter((order) => isAbout(order, this.key, this.rule));
    } catch {
      // Without records there are none, and never will be.
      this.#ordersDue = Infinity;
      return [];
    }
  }
}

function isSeen({ buckets }: Answer): boolean {
  return buckets.some(({ exists }) => exists);
}
