import { describe, expect, it } from 'vitest';
import { Places } from './places';

const rows = (...names: string[]) => names.map((name) => ({ name, denied: 0, admitted: 0, shadow: 0 }));
const names = (given: readonly { name: string }[]): string => given.map(({ name }) => name).join(' ');

const free = { isHeld: false, everySeconds: 1 };
const held = { isHeld: true, everySeconds: 1 };

describe('places', () => {
  it('follow the ranking, but not while they are held', () => {
    const places = new Places();
    expect(names(places.give(rows('a', 'b'), 'denied', 1, free))).toBe('a b');
    expect(names(places.give(rows('b', 'a'), 'denied', 2, held))).toBe('a b');
    expect(names(places.give(rows('b', 'c'), 'denied', 3, held))).toBe('b c');
    expect(names(places.give(rows('b', 'a'), 'denied', 4, free))).toBe('b a');
  });

  it('are given anew for another question, held or not', () => {
    const places = new Places();
    places.give(rows('a', 'b'), 'denied', 1, held);
    expect(names(places.give(rows('b', 'a'), 'admitted', 1, held))).toBe('b a');
  });

  it('change no more often than they may', () => {
    const places = new Places();
    const rarely = { isHeld: false, everySeconds: 5 };
    places.give(rows('a', 'b'), 'denied', 100, rarely);
    expect(names(places.give(rows('b', 'a'), 'denied', 104, rarely))).toBe('a b');
    expect(names(places.give(rows('b', 'a'), 'denied', 105, rarely))).toBe('b a');
  });
});
