/** What the service says of single clients, and the ways to ask it. */

import { ask, query } from './api';
import type { ClientOrder } from './orders';
import type { RuleInForce } from './rules';
import type { Talker, Top, ViolationEvent } from './types';

/** How a bucket stands. */
export interface Bucket {
  /** Whether it only watches. */
  readonly shadow: boolean;
  readonly algorithm: string;
  /** In words. */
  readonly limit: string;
  readonly balance: number;
  readonly full: number;
  /** How long until it can pay 1; `null` if it never can. */
  readonly next_admit_ms: number | null;
  readonly full_in_ms: number;
  /** Whether anything is known of the client: a bucket that is full need not be kept. */
  readonly exists: boolean;
  readonly mode: string;
}

export interface Buckets {
  readonly rule: string;
  readonly key: string;
  /** The enforced one first. */
  readonly buckets: readonly Bucket[];
}

export interface LookedAt extends Buckets {
  /** Blocks, allowances and overrides that are about this client, as far as its key says who it is; newest first. */
  readonly orders: readonly ClientOrder[];
  /** What became of its checks under this rule in about the last minute; `null` if it is not among those who talk most. */
  readonly lately: Lately | null;
}

/** The figures of a talker. */
export type Lately = Pick<Talker, 'admitted' | 'denied' | 'near'>;

export interface Operated extends Buckets {
  /** Whether it is done on this instance; else it will be. */
  readonly done: boolean;
}

export interface AuditLine {
  readonly audit_id: number;
  readonly at: string;
  readonly who: string;
  readonly action: string;
  readonly target: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly reason: string | null;
  readonly source_address: string | null;
}

export interface AuditFilter {
  readonly who?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
}

export function buckets(rule: string, key: string): Promise<LookedAt> {
  return ask(`/admin/v1/buckets${query({ rule, key })}`);
}

export function reset(rule: string, key: string, reason: string): Promise<Operated> {
  return ask('/admin/v1/buckets/reset', { method: 'POST', body: { rule, key, reason } });
}

export function grant(rule: string, key: string, tokens: number, reason: string): Promise<Operated> {
  return ask('/admin/v1/buckets/grant', { method: 'POST', body: { rule, key, tokens, reason } });
}

export function top(options: {
  rule?: string | undefined;
  by?: 'admitted' | 'denied';
  limit?: number;
}): Promise<Top> {
  return ask(`/admin/v1/top${query(options)}`);
}

export function violations(
  filter: Readonly<Record<string, string | number | undefined>>,
): Promise<{ readonly violations: readonly ViolationEvent[]; readonly cursor: string | null }> {
  return ask(`/admin/v1/violations${query(filter)}`);
}

export function audit(
  filter: AuditFilter,
  cursor?: number,
): Promise<{ readonly lines: readonly AuditLine[]; readonly cursor: number | null }> {
  return ask(`/admin/v1/audit${query({ ...filter, cursor, limit: 50 })}`);
}

/** The address of a client's page. */
export function clientHref(key: string, rule?: string): string {
  return `/clients${query({ rule, key })}`;
}

/** What a key that an operator typed is about. */
export type Named =
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'address'; readonly name: string }
  | { readonly kind: 'other' };

export function named(key: string): Named {
  const user = /^user[:=]([^,]+)$/.exec(key)?.[1];
  if (user !== undefined) return { kind: 'user', name: user };
  const address = key.replace(/^(?:ip(?::(?:address|prefix))?|address)[:=]/, '').replace(/\/(32|128)$/, '');
  return isAddress(address) ? { kind: 'address', name: address } : { kind: 'other' };
}

function isAddress(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || (/^[0-9a-f:.]+$/i.test(text) && text.split(':').length > 2);
}

/** Whom an order about a client can be about, the plainest first; the last is always the key of a rule. */
export function whomToOrder(
  key: string,
  rule: string | undefined,
): { who: string; rule?: string; label: string }[] {
  const about = named(key);
  const choices: { who: string; rule?: string; label: string }[] = [];
  if (about.kind === 'user') choices.push({ who: `user:${about.name}`, label: `the user ${about.name}` });
  if (about.kind === 'address')
    choices.push({ who: `address:${about.name}`, label: `the address ${about.name}` });
  if (rule !== undefined)
    choices.push({ who: `key:${key}`, rule, label: `who has the key ${key} under ${rule}` });
  return choices;
}

/** Most rules whose buckets are asked for at a time. */
const RULES_MAX = 12;

/** The rules under which a typed key may have a bucket. Only the service knows for sure, and it is asked. */
export function rulesFor(key: string, rules: readonly RuleInForce[]): RuleInForce[] {
  const about = named(key);
  const parts = key.split(',').map((part) => /^([^=]+)=/.exec(part)?.[1]);
  const fits = ({ action, keys, source }: RuleInForce): boolean => {
    if (action !== 'limit' || source.startsWith('order ')) return false;
    if (keys.length !== 1) {
      if (keys.length === 0) return key === 'all';
      return (
        key === 'anonymous' || (parts.length === keys.length && keys.every((of, at) => of === parts[at]))
      );
    }
    const [only = ''] = keys;
    if (about.kind === 'user') return only === 'user';
    if (about.kind === 'address') return only === 'user' || only.startsWith('ip:');
    if (parts[0] !== undefined)
      return only === parts[0] && !parts.slice(1).some((part) => part !== undefined);
    return key === 'anonymous' || !only.startsWith('ip:');
  };
  return rules.filter(fits).slice(0, RULES_MAX);
}

/** Those whose balance grows evenly until the bucket is full. */
const EVEN = new Set(['token_bucket', 'leaky_bucket']);

/** Longest that the page goes on by itself after an answer, in milliseconds. */
const AHEAD_MS_MAX = 3_000;

/**
 * Where the gauge stands some time after the service has said how a bucket stands: for the eye alone, between two answers. What does not
 * refill evenly stays where it was.
 */
export function shownBalance(bucket: Bucket, elapsedMs: number): number {
  const { algorithm, balance, full, full_in_ms } = bucket;
  if (!EVEN.has(algorithm) || full_in_ms <= 0) return balance;
  const share = Math.min(Math.min(Math.max(elapsedMs, 0), AHEAD_MS_MAX) / full_in_ms, 1);
  return balance + (full - balance) * share;
}

/** How far a balance may be from what was foreseen before somebody must have spent of it: a share of the bucket, and tokens. */
const ASTRAY_SHARE = 0.01;
const ASTRAY_TOKENS = 0.5;

/** Whether tokens were spent between two answers. A gauge that went on by itself would then show a refill that there is not. */
export function isSpentFrom(before: Bucket, after: Bucket, elapsedMs: number): boolean {
  const foreseen = EVEN.has(before.algorithm)
    ? before.balance +
      (before.full - before.balance) * Math.min(elapsedMs / Math.max(before.full_in_ms, 1), 1)
    : before.balance;
  return after.balance < foreseen - Math.max(ASTRAY_TOKENS, after.full * ASTRAY_SHARE);
}
