/** What the service says, as /admin/openapi.json describes it. */

export interface Counts {
  readonly admitted: number;
  readonly denied: number;
  readonly shadow: number;
  readonly refused: number;
}

export interface RuleRates extends Counts {
  readonly name: string;
}

export interface StoreStanding {
  readonly kind: string;
  readonly state: string;
  readonly exact: number;
  readonly leased: number;
  readonly fallback: number;
  readonly lease_hit_ratio: number | null;
  readonly denial_cache_ratio: number | null;
  readonly round_trips_per_check: number | null;
}

/** What happened in about a second. */
export interface Rates {
  /** When it ended, in milliseconds since 1970. */
  readonly at_ms: number;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  readonly total: Counts;
  readonly latency_us: { readonly p50: number; readonly p99: number } | null;
  readonly keys: number;
  readonly evicted: number;
  readonly store: StoreStanding;
  readonly rules: readonly RuleRates[];
  readonly left_out: number;
  readonly violations_left_out: number;
}

export type Column = readonly (number | null)[];

export interface History {
  readonly step_ms: number;
  readonly end_ms: number;
  readonly seconds: number;
  readonly total: { readonly admitted: Column; readonly denied: Column; readonly shadow: Column };
  readonly latency_us: { readonly p50: Column; readonly p99: Column };
  readonly rules: readonly {
    readonly name: string;
    readonly admitted: Column;
    readonly denied: Column;
    readonly shadow: Column;
  }[];
  readonly left_out: number;
}

/** One denial, as the log keeps it. */
export interface ViolationEvent {
  /** The live stream tells of violations before they have a number. */
  readonly violation_id?: number;
  /** A date as RFC 3339 writes it. */
  readonly requested_at: string;
  readonly rule: string;
  /** Empty where identifiers are off. */
  readonly bucket_key: string;
  readonly user: string | null;
  readonly address: string | null;
  readonly endpoint: string | null;
  readonly tokens_at_time: number;
  readonly cost: number;
  readonly reason: string;
  readonly door: string;
  /** How many denials of its key it stands for. */
  readonly sampled_for: number;
}

/** How often: the truth is between the two. */
export interface Times {
  readonly at_least: number;
  readonly at_most: number;
}

/** A client of a rule, and what became of its checks in about the last minute. */
export interface Talker {
  /** For people. */
  readonly client: string;
  /** As /buckets reads it, if it can be told. */
  readonly key: string | null;
  readonly admitted: Times;
  readonly denied: Times;
  readonly near: Times;
}

/** Who talks most, by rule. */
export interface Top {
  readonly rules: readonly { readonly rule: string; readonly clients: readonly Talker[] }[];
  readonly left_out: number;
  readonly missed: number;
  /** Whose figures are added up. */
  readonly instances: number;
}

/** Something was changed. */
export interface Change {
  readonly what: string;
  readonly by?: string;
  readonly [other: string]: unknown;
}
