import { describe, expect, it } from 'vitest';
import { count, micros, moment, percent, span, timeOfDay } from './format';

describe('what people read', () => {
  it('shortens large numbers and no others', () => {
    expect([0, 999, 12_345, 1_234_567].map(count)).toEqual(['0', '999', '12,345', '1.2M']);
  });
  it('calls midnight zero, in every language', () => {
    const midnight = new Date(2026, 10, 16, 0, 5, 6);
    expect(timeOfDay(midnight)).toBe('00:05:06');
    expect(moment(midnight)).toContain('00:05:06');
  });
  it('never says sixty seconds of a minute', () => {
    expect([119_700, 3_599_600].map(span)).toEqual(['2 min', '1 h']);
  });
  it('says spans in units that fit', () => {
    expect([0.5, 250, 1_500, 60_000, 125_000, 7_200_000, 7_800_000, 200_000_000].map(span)).toEqual([
      '0.5 ms',
      '250 ms',
      '1.5 s',
      '1 min',
      '2 min 5 s',
      '2 h',
      '2 h 10 min',
      '2 d 7 h',
    ]);
  });
  it('says microseconds and ratios', () => {
    expect([micros(3.14159), micros(1_500), percent(0.1234)]).toEqual(['3.14 µs', '1.5 ms', '12.34 %']);
  });
});
