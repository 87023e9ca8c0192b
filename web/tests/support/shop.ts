/** A shop with polite, bursty and abusive customers, so that every page has something to show. */

import { times, Traffic, type Facts } from './clients.ts';
import { Server } from './server.ts';

const POLICY = `
name: shop
rules:
  # The whole service.
  - {name: everyone, scope: global, rate: 600/s, burst: 1200}
  # By plan, for each user.
  - group: plans
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 10/s, burst: 30}
      - {name: free, scope: user, rate: 2/s, burst: 10}
  # Guessing is slow.
  - {name: login, scope: ip, method: POST, path: /login, rate: 10/m, burst: 10}
  # Searching is expensive.
  - {name: search, scope: user, path: /api/search, rate: 3/s, burst: 15}
  # It only watches: whom would a tighter limit meet?
  - {name: search-tighter, scope: user, path: /api/search, rate: 1/s, burst: 5, mode: shadow}
`;

/** How long the shop is busier and quieter, in milliseconds. */
const WAVE_MS = 1_000;

export interface Shop {
  readonly server: Server;
  readonly close: () => Promise<void>;
}

export async function openShop(): Promise<Shop> {
  const server = await Server.start({ policy: POLICY, playground: 'open' });
  const traffic = new Traffic(server, customers(0));
  let wave = 0;
  const timer = setInterval(() => {
    wave += 1;
    traffic.checks = customers(wave);
  }, WAVE_MS);
  const close = async (): Promise<void> => {
    clearInterval(timer);
    traffic.stop();
    await server.stop();
  };
  return { server, close };
}

/** Whoever asks every tenth of a second, in this wave. */
function customers(wave: number): Facts[] {
  const polite = times(8 + Math.round(4 * Math.sin(wave / 6)), (at) => ({
    path: at % 3 === 0 ? '/api/search' : '/api/items',
    user: `customer-${(wave * 7 + at) % 60}`,
    plan: at % 2 === 0 ? 'pro' : 'free',
  }));
  const bursty =
    wave % 9 < 2 ? times(6, () => ({ path: '/api/search', user: 'batch-job', plan: 'pro' })) : [];
  const abusive = [
    ...times(3, () => ({ path: '/api/items', user: 'crawler' })),
    ...times(wave % 13 < 4 ? 4 : 1, () => ({ path: '/login', method: 'POST', ip: '203.0.113.9' })),
  ];
  return [...polite, ...bursty, ...abusive];
}
