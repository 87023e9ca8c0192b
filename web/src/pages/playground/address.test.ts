import { describe, expect, it } from 'vitest';
import { read, write } from './address';
import { DEFAULT_PRESET, PRESETS } from './presets';
import { question, quotaOf, type Scene } from './scene';

const search = (query: string): URLSearchParams => new URLSearchParams(query);

/** A scene in which nothing is as in any preset. */
const OWN: Scene = {
  rate: { count: 0.003, per: 'm' },
  burst: 7.5,
  cost: 2.25,
  windowMs: 1_500,
  creditMs: 90_000,
  tiers: [
    { rate: { count: 5, per: 's' }, burst: 10 },
    { rate: { count: 100, per: 'h' }, burst: 60 },
  ],
  lengthMs: 30_000,
  streams: [
    { pattern: 'steady', perSecond: 0.5, fromMs: 0, toMs: null },
    { pattern: 'poisson', perSecond: 20, seed: 42, fromMs: 10, toMs: 20_000 },
    { pattern: 'waves', perSecond: 200, onMs: 1_000, offMs: 0, fromMs: 0, toMs: null },
    { pattern: 'bursts', count: 30, everyMs: 5_000, fromMs: 500, toMs: 29_000 },
  ],
  fired: [
    { atMs: 5_000, count: 50 },
    { atMs: 7_001, count: 1 },
  ],
  lanes: ['tiers', 'fixed_window', 'token_bucket'],
  speed: 0.25,
};

describe('the address of a scene', () => {
  it('leads back to the very scene and moment', () => {
    const place = read(search(write(OWN, 1_234.4)));
    expect(place).toEqual({ scene: OWN, atMs: 1_234, preset: null, damage: null });
  });
  it('needs no letter escaped, so that it stays short wherever it is pasted', () => {
    expect(write(OWN, 1)).toMatch(/^[A-Za-z0-9=&._~-]+$/);
    expect(write(OWN, 1).length).toBeLessThan(300);
  });
  it.each(PRESETS.map((preset) => [preset.id, preset] as const))('names the preset %s', (id, preset) => {
    expect(write(preset.scene)).toBe(`p=${id}`);
    expect(read(search(`p=${id}`))).toEqual({ scene: preset.scene, atMs: null, preset, damage: null });
  });
  it('of a changed preset holds all of it', () => {
    for (const { scene } of PRESETS) {
      const changed = { ...scene, cost: 3 };
      expect(read(search(write(changed))).scene).toEqual(changed);
    }
  });
  it('without a query is the default, which is no damage', () => {
    expect(read(search(''))).toMatchObject({ preset: DEFAULT_PRESET, damage: null });
  });
  const whole = write(OWN);
  it.each([
    ['an unknown preset', 'p=nonsense', '`p`'],
    ['an unknown name', `${whole}&evil=1`, '`evil`'],
    ['a preset with something else', 'p=double-window&b=1', '`b`'],
    ['a name twice', `${whole}&b=1`, '`b`'],
    ['something missing', whole.replace(/&l=\d+/, ''), '`l`'],
    ['a rate without a unit', whole.replace(/r=[^&]+/, 'r=10'), '`r`'],
    ['no number', whole.replace(/b=[^&]+/, 'b=NaN'), '`b`'],
    ['a number as programs write it', whole.replace(/b=[^&]+/, 'b=1e9'), '`b`'],
    ['a negative number', whole.replace(/c=[^&]+/, 'c=-1'), '`c`'],
    ['nothing at all for a number', whole.replace(/c=[^&]+/, 'c='), '`c`'],
    ['more than a day', whole.replace(/l=\d+/, 'l=86400001'), '`l`'],
    ['an unknown pattern', whole.replace('steady', 'steadily'), '`a`'],
    ['a name that every object has', whole.replace('steady', 'constructor'), '`a`'],
    ['too few figures', whole.replace('waves_200_1000_0_0', 'waves_200'), '`a`'],
    ['waves that last no time', whole.replace('waves_200_1000', 'waves_200_0'), '`a`'],
    ['half a request', whole.replace('bursts_30', 'bursts_30.5'), '`a`'],
    ['too many patterns', whole.replace('a=', `a=${'steady_1_0~'.repeat(5)}`), '`a`'],
    ['too many bursts', whole.replace('f=', `f=${'1_1~'.repeat(25)}`), '`f`'],
    ['an unknown lane', whole.replace(/n=\w+/, 'n=tz'), '`n`'],
    ['a lane twice', whole.replace(/n=\w+/, 'n=tt'), '`n`'],
    ['an unknown speed', whole.replace(/x=[^&]+/, 'x=7'), '`x`'],
    ['a moment after the end', `${whole}&t=30001`, '`t`'],
  ])('is refused as a whole with %s', (_, query, named) => {
    const place = read(search(query));
    expect(place).toMatchObject({ scene: DEFAULT_PRESET.scene, preset: DEFAULT_PRESET, atMs: null });
    expect(place.damage).toContain(named);
  });
});

describe('what the service is asked', () => {
  it('is the same limit in the words of each algorithm', () => {
    const scene: Scene = { ...OWN, rate: { count: 100, per: 'm' }, burst: 100, windowMs: null };
    expect(quotaOf(scene)).toEqual({ quota: 100, windowMs: 60_000 });
    expect(question(scene)).toMatchObject({
      lanes: [
        {
          name: 'tiers',
          algorithm: 'tiers',
          tiers: [
            { rate: '5/s', burst: 10 },
            { rate: '100/h', burst: 60 },
          ],
        },
        { name: 'fixed_window', algorithm: 'fixed_window', quota: 100, window: '60000ms' },
        { name: 'token_bucket', algorithm: 'token_bucket', rate: '100/m', burst: 100 },
      ],
      promise: { rate: '100/m', burst: 100 },
    });
  });
  it('asks for nothing outside of the run', () => {
    const scene: Scene = { ...OWN, lengthMs: 6_000 };
    const { arrivals } = question(scene) as { arrivals: Record<string, unknown>[] };
    const burst = (at: number): number[] => Array.from({ length: 30 }, () => at);
    expect(arrivals).toMatchObject([
      { pattern: 'steady', to_ms: 6_000 },
      { pattern: 'poisson', to_ms: 6_000 },
      { pattern: 'waves', to_ms: 6_000 },
      { pattern: 'list', at_ms: [...burst(500), ...burst(5_500)] },
      { pattern: 'burst', at_ms: 5_000, count: 50 },
    ]);
  });
});
