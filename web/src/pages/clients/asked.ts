/** What somebody wants to do about a client. */

import type { ClientOrder, Order } from '../../lib/orders';

export type Asked =
  | { readonly what: 'reset' | 'grant' | 'override'; readonly rule: string }
  | { readonly what: 'block' | 'allow' }
  | { readonly what: 'end'; readonly order: Order | ClientOrder };
