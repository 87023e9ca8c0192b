/**
 * The last fifteen minutes, a second each: of all checks, of their latency, and of each rule. Knows nothing of where it comes from:
 * history and events are merged by their times. A second that nobody told us of is a gap, never a zero. Bounded in seconds and rules.
 */

import type { Column, History, Rates } from '../../lib/types';

export const SECONDS_MAX = 900;
/** Rules that are remembered; of more, the one that was quiet longest is forgotten. The service tells of 200 at a time. */
export const RULES_MAX = 256;

/** A time that goes back by more than this is another clock: everything is forgotten. */
const BACK_MS_MAX = 5_000;
/** How far a second may stand from its place before it is put right. */
const ASTRAY_MS_MAX = 1_500;

export type Outcome = 'admitted' | 'denied' | 'shadow';
export type Outcomes = Readonly<Record<Outcome, number>>;
const OUTCOMES: readonly Outcome[] = ['admitted', 'denied', 'shadow'];

/** One value for each second; NaN where nothing is known. */
type Ring = Float32Array;
type Lane = Record<Outcome, Ring>;

const ring = (): Ring => new Float32Array(SECONDS_MAX).fill(NaN);
const lane = (): Lane => ({ admitted: ring(), denied: ring(), shadow: ring() });
const place = (second: number): number => second % SECONDS_MAX;

export class Timeline {
  /** The last second that was told, since 1970; 0 before the first. */
  #end = 0;
  #endMs = 0;
  #all = lane();
  #latency = { p50: ring(), p99: ring() };
  #rules = new Map<string, Lane & { lastBusy: number }>();

  /** When the last second ended, since 1970; 0 before the first. */
  get end(): number {
    return this.#end;
  }

  /** Adds one second as the events tell it; one that is already here is left out. */
  add(rates: Rates): void {
    if (rates.at_ms < this.#endMs - BACK_MS_MAX) this.#forget();
    const second = this.#secondOf(rates.at_ms);
    if (second <= this.#end) return;
    this.#advance(second, rates.at_ms);
    const at = place(second);
    const perSecond = (count: number): number => (count * 1_000) / Math.max(rates.ms, 1);
    for (const name of OUTCOMES) this.#all[name][at] = perSecond(rates.total[name]);
    this.#latency.p50[at] = rates.latency_us?.p50 ?? NaN;
    this.#latency.p99[at] = rates.latency_us?.p99 ?? NaN;
    for (const known of this.#rules.values()) for (const name of OUTCOMES) known[name][at] = 0;
    for (const rule of rates.rules) {
      const known = this.#rule(rule.name);
      known.lastBusy = second;
      for (const name of OUTCOMES) known[name][at] = perSecond(rule[name]);
    }
  }

  /** Takes over what the service remembers; seconds that came later by events stay. */
  load(history: History): void {
    if (history.end_ms < this.#endMs - BACK_MS_MAX) this.#forget();
    const end = this.#secondOf(history.end_ms);
    if (end > this.#end) this.#advance(end, history.end_ms);
    const put = (into: Ring, column: Column): void => {
      const first = end - column.length + 1;
      for (let index = Math.max(0, column.length - SECONDS_MAX); index < column.length; index += 1) {
        if (first + index > this.#end - SECONDS_MAX) into[place(first + index)] = column[index] ?? NaN;
      }
    };
    for (const name of OUTCOMES) put(this.#all[name], history.total[name]);
    put(this.#latency.p50, history.latency_us.p50);
    put(this.#latency.p99, history.latency_us.p99);
    for (const rule of history.rules) {
      const known = this.#rule(rule.name);
      for (const name of OUTCOMES) put(known[name], rule[name]);
      known.lastBusy = Math.max(known.lastBusy, lastBusyOf(rule, end));
    }
    // Of a rule that history does not name, nothing happened where anything is known.
    for (const known of this.#rules.values()) this.#fillQuiet(known);
  }

  /** The end of each of the last seconds, since 1970, oldest first; none before the first was told. */
  times(seconds: number): number[] {
    if (this.#end === 0) return [];
    const times = new Array<number>(seconds);
    for (let index = 0; index < seconds; index += 1) times[index] = this.#end - seconds + 1 + index;
    return times;
  }

  /** Of all checks, or of one rule: per second, oldest first. */
  counts(outcome: Outcome, seconds: number, rule?: string): Column {
    const from = rule === undefined ? this.#all : this.#rules.get(rule);
    return this.#last(from?.[outcome], seconds);
  }

  /** Of all checks, in microseconds, oldest first. */
  latency(quantile: 'p50' | 'p99', seconds: number): Column {
    return this.#last(this.#latency[quantile], seconds);
  }

  /** The rules that did anything in the last seconds. */
  busyRules(seconds: number): string[] {
    const names: string[] = [];
    for (const [name, { lastBusy }] of this.#rules) if (lastBusy > this.#end - seconds) names.push(name);
    return names;
  }

  /** The mean per second of a rule over the last seconds; gaps do not count. */
  mean(rule: string, seconds: number): Outcomes {
    const known = this.#rules.get(rule);
    const mean = { admitted: 0, denied: 0, shadow: 0 };
    if (!known) return mean;
    for (const outcome of OUTCOMES) {
      let [sum, count] = [0, 0];
      for (let back = 0; back < seconds; back += 1) {
        const value = this.#at(known[outcome], back);
        if (!Number.isNaN(value)) [sum, count] = [sum + value, count + 1];
      }
      mean[outcome] = count === 0 ? 0 : sum / count;
    }
    return mean;
  }

  /**
   * Events come about a second apart and never exactly; each is a second of its own all the same, unless it is far from its place.
   */
  #secondOf(atMs: number): number {
    const rounded = Math.round(atMs / 1_000);
    if (this.#end === 0) return rounded;
    const next = this.#end + Math.round((atMs - this.#endMs) / 1_000);
    return Math.abs(next * 1_000 - atMs) > ASTRAY_MS_MAX ? rounded : next;
  }

  /** Moves on to a second; those between are gaps. */
  #advance(second: number, atMs: number): void {
    const rings = [this.#latency.p50, this.#latency.p99];
    for (const one of [this.#all, ...this.#rules.values()]) rings.push(one.admitted, one.denied, one.shadow);
    const first = Math.max(this.#end + 1, second - SECONDS_MAX + 1);
    for (const one of rings) for (let gap = first; gap <= second; gap += 1) one[place(gap)] = NaN;
    this.#end = second;
    this.#endMs = atMs;
  }

  #rule(name: string): Lane & { lastBusy: number } {
    const known = this.#rules.get(name);
    if (known) return known;
    if (this.#rules.size >= RULES_MAX) this.#forgetQuietest();
    const added = { ...lane(), lastBusy: 0 };
    this.#fillQuiet(added);
    this.#rules.set(name, added);
    return added;
  }

  #forgetQuietest(): void {
    let quietest: string | undefined;
    let since = Infinity;
    for (const [name, { lastBusy }] of this.#rules) {
      if (lastBusy < since) [quietest, since] = [name, lastBusy];
    }
    if (quietest !== undefined) this.#rules.delete(quietest);
  }

  #fillQuiet(quiet: Lane): void {
    for (let at = 0; at < SECONDS_MAX; at += 1) {
      if (Number.isNaN(this.#all.admitted[at])) continue;
      for (const name of OUTCOMES) if (Number.isNaN(quiet[name][at])) quiet[name][at] = 0;
    }
  }

  #at(from: Ring, back: number): number {
    const second = this.#end - back;
    return second <= 0 ? NaN : (from[place(second)] ?? NaN);
  }

  #last(from: Ring | undefined, seconds: number): Column {
    const values = new Array<number | null>(seconds).fill(null);
    for (let index = 0; from && index < seconds; index += 1) {
      const value = this.#at(from, seconds - 1 - index);
      if (!Number.isNaN(value)) values[index] = value;
    }
    return values;
  }

  #forget(): void {
    this.#end = 0;
    this.#endMs = 0;
    this.#all = lane();
    this.#latency = { p50: ring(), p99: ring() };
    this.#rules.clear();
  }
}

/** The last second of a history in which the rule did anything; 0 if it never did. */
function lastBusyOf(rule: History['rules'][number], end: number): number {
  for (let back = 0; back < rule.admitted.length; back += 1) {
    if (OUTCOMES.some((name) => (rule[name].at(-1 - back) ?? 0) > 0)) return end - back;
  }
  return 0;
}
