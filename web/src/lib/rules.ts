/** What the service says of rules, and the ways to ask it. */

import { ask, askWhole, query } from './api';

export type Mode = 'enforce' | 'shadow' | 'off';

/** A rule in force. */
export interface RuleInForce {
  readonly name: string;
  /** Who says so: `the file`, `entry "x"`, `row 7`, `order 12`. */
  readonly source: string;
  readonly scope: string;
  /** What picks the bucket, as policies spell it. */
  readonly keys: readonly string[];
  readonly action: 'limit' | 'allow' | 'block';
  readonly algorithm?: string;
  /** In words. */
  readonly limit?: string;
  readonly mode: Mode;
  readonly rollout_percent: number;
  readonly group?: string;
  readonly consistency: string;
  readonly on_store_failure: string;
  readonly counts: {
    readonly admitted: number;
    readonly denied: number;
    readonly refused: number;
    readonly shadow_denied: number;
  };
}

export interface RulesInForce {
  readonly policy: string;
  readonly policy_version: number;
  readonly rules: readonly RuleInForce[];
}

/** A plain row on record. */
export interface Row {
  readonly rule_id: number;
  readonly key_pattern: string;
  readonly scope: string;
  readonly rate_per_second: string;
  readonly burst_capacity: string;
  readonly plan: string | null;
  readonly is_active: boolean;
  readonly description: string | null;
}

/** What a rule says, or the group that it is a tier of. */
export interface RuleText {
  /** What to put it as: the name of the rule, or of its group. */
  readonly name: string;
  readonly source: 'record' | 'file' | 'row';
  /** A row has none. */
  readonly text?: string;
  readonly row?: Row;
  readonly active: boolean;
  readonly description: string | null;
  /** Whether deleting it from the records brings back one of the file. */
  readonly in_file: boolean;
  readonly file_text?: string | null;
  /** The version on record. */
  readonly version: number;
}

/** A rule on record. */
export interface Entry {
  readonly name: string;
  readonly text: string;
  readonly is_active: boolean;
  readonly description: string | null;
}

export interface Changed<T> {
  readonly before: T;
  readonly after: T;
}

export interface Version {
  readonly version: number;
  readonly author: string;
  readonly comment: string;
  readonly created_at: string;
  readonly hash: string;
}

export interface RuleSetDiff {
  readonly added_entries: readonly Entry[];
  readonly removed_entries: readonly Entry[];
  readonly changed_entries: readonly Changed<Entry>[];
  readonly added_rows: readonly Row[];
  readonly removed_rows: readonly Row[];
  readonly changed_rows: readonly Changed<Row>[];
}

/** A rule as it is proposed or applied. */
export interface Proposal {
  /** The name that its text must say; a new rule has the one that it says. */
  readonly name?: string | undefined;
  readonly text: string;
  readonly active: boolean;
  readonly description: string | null;
}

export interface Validated {
  readonly valid: boolean;
  readonly mistakes: readonly string[];
  readonly notes: readonly string[];
  readonly version: number;
}

export interface Proposed {
  readonly version: number;
  readonly entries: {
    readonly added: readonly Entry[];
    readonly removed: readonly Entry[];
    readonly changed: readonly Changed<Entry>[];
  };
}

export function rulesInForce(): Promise<RulesInForce> {
  return ask('/admin/v1/rules');
}

export function ruleText(name: string): Promise<RuleText> {
  return ask(`${pathOf(name)}/text`);
}

export function validate(rule: Proposal, signal: AbortSignal): Promise<Validated> {
  return ask('/admin/v1/rules/validate', { method: 'POST', body: { rules: [rule] }, signal });
}

export function propose(rule: Proposal): Promise<Proposed> {
  return ask('/admin/v1/rules/diff', { method: 'POST', body: { rules: [rule] } });
}

export function apply(rule: Proposal, baseVersion: number, comment: string): Promise<Version> {
  const body = { rules: [rule], base_version: baseVersion, comment };
  return ask('/admin/v1/rules/apply', { method: 'POST', body });
}

export function remove(name: string, baseVersion: number, comment: string): Promise<Version> {
  const headers = { 'if-match': `"${baseVersion}"` };
  return ask(pathOf(name) + query({ comment }), { method: 'DELETE', headers });
}

export function setActive(
  name: string,
  isActive: boolean,
  baseVersion: number,
  comment: string,
): Promise<Version> {
  const body = { base_version: baseVersion, comment };
  return ask(`${pathOf(name)}/${isActive ? 'activate' : 'deactivate'}`, { method: 'POST', body });
}

export function versions(
  cursor?: number,
): Promise<{ readonly versions: readonly Version[]; readonly cursor: number | null }> {
  return ask(`/admin/v1/versions${query({ cursor, limit: 25 })}`);
}

/** What became of one version until another: of the one before, unless told. */
export async function versionDiff(version: number, against?: number): Promise<RuleSetDiff> {
  const path = `/admin/v1/versions/${version}/diff${query({ against })}`;
  return (await ask<{ diff: RuleSetDiff }>(path)).diff;
}

export function rollBack(version: number, baseVersion: number, comment: string): Promise<Version> {
  const body = { base_version: baseVersion, comment };
  return ask(`/admin/v1/versions/${version}/rollback`, { method: 'POST', body });
}

/** The JSON schema of policies. */
export async function schema(): Promise<unknown> {
  return (await askWhole<unknown>('/admin/v1/schema')).json;
}

/** Names that are paths of their own are asked for by another spelling, as the service has it. */
function pathOf(name: string): string {
  const encoded = encodeURIComponent(name);
  const isTaken = ['apply', 'diff', 'export', 'validate'].includes(name);
  const first = name.charCodeAt(0).toString(16);
  return `/admin/v1/rules/${isTaken ? `%${first}${encoded.slice(1)}` : encoded}`;
}
