/** Standing orders: what operators say about one client or one rule, until it is ended or over. */

import { ask, query } from './api';
import type { Mode } from './rules';

export type OrderKind = 'block' | 'allow' | 'override' | 'kill_switch' | 'mode';

export interface Order {
  readonly order_id: number;
  readonly kind: OrderKind;
  readonly rule: string | null;
  /** `user`, `address`, `network` or `key`. */
  readonly who_kind: string | null;
  readonly who: string | null;
  readonly rate: string | null;
  readonly burst: string | null;
  readonly mode: Mode | null;
  readonly reason: string;
  readonly author: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
}

/** An order as it is told with a client's buckets: whom it is about is known there. */
export type ClientOrder = Pick<Order, 'order_id' | 'kind' | 'reason' | 'author' | 'expires_at'> & {
  /** Of an override, the rule that it is about. */
  readonly rule?: string;
};

/** An order as it is given. */
export interface NewOrder {
  readonly kind: OrderKind;
  readonly rule?: string | undefined;
  /** `user:NAME`, `address:192.0.2.7`, `network:192.0.2.0/24`, or `key:KEY` of the rule. */
  readonly who?: string | undefined;
  readonly rate?: string | undefined;
  readonly burst?: string | undefined;
  readonly mode?: Mode | undefined;
  readonly reason: string;
  /** A date, or a span from now such as `2h`; never unless told. */
  readonly expires?: string | undefined;
}

export interface OrdersPage {
  readonly orders: readonly Order[];
  readonly cursor: number | null;
}

export function orders(
  options: { past?: boolean; cursor?: number; limit?: number } = {},
): Promise<OrdersPage> {
  const { past, cursor, limit = 50 } = options;
  return ask(`/admin/v1/orders${query({ past: past ? 'true' : undefined, cursor, limit })}`);
}

export function giveOrder(order: NewOrder): Promise<Order> {
  return ask('/admin/v1/orders', { method: 'POST', body: order });
}

export function endOrder(id: number, reason: string): Promise<Order> {
  return ask(`/admin/v1/orders/${id}${query({ reason })}`, { method: 'DELETE' });
}

/** What an order says, in words. */
export function orderText(order: Order | ClientOrder): string {
  if (!('who' in order)) return clientOrderText(order);
  const whom =
    order.who === null ? '' : order.who_kind === 'key' ? order.who : `${order.who_kind} ${order.who}`;
  switch (order.kind) {
    case 'block':
    case 'allow':
      return `${order.kind} ${whom}`;
    case 'override':
      return `${whom} has ${rateText(order.rate)}, burst ${order.burst} under ${order.rule}`;
    case 'kill_switch':
      return order.rule === null ? 'refuse every request' : `refuse all that ${order.rule} covers`;
    case 'mode':
      return `${order.rule} is ${order.mode}`;
  }
}

function clientOrderText(order: ClientOrder): string {
  if (order.kind === 'block') return 'every request of this client is refused';
  return order.kind === 'allow'
    ? 'nothing limits this client'
    : `another limit under ${order.rule ?? 'a rule'}`;
}

/** A rate without a unit is per second. */
function rateText(rate: string | null): string {
  return rate === null || rate.includes('/') ? (rate ?? '') : `${rate}/s`;
}
