import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff';

const shown = (before: string, after: string): string[] =>
  lineDiff(before, after).map(
    (line) =>
      `${{ same: ' ', gone: '-', new: '+' }[line.kind]}${line.before ?? '.'}:${line.after ?? '.'} ${line.text}`,
  );

describe('the difference of two texts', () => {
  it('shows what goes before what comes, with the numbers of both', () => {
    expect(shown('name: a\nrate: 1/s\nburst: 5\n', 'name: a\nrate: 2/s\nburst: 5\nmode: shadow\n')).toEqual([
      ' 1:1 name: a',
      '-2:. rate: 1/s',
      '+.:2 rate: 2/s',
      ' 3:3 burst: 5',
      '+.:4 mode: shadow',
    ]);
  });
  it('is all new before nothing, all gone after nothing, and nothing between the same', () => {
    expect(shown('', 'a\nb')).toEqual(['+.:1 a', '+.:2 b']);
    expect(shown('a', '')).toEqual(['-1:. a']);
    expect(shown('a\nb\n', 'a\nb\n').every((line) => line.startsWith(' '))).toBe(true);
  });
  it('gives back both texts, whatever they are', () => {
    let seed = 7;
    const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648);
    const some = (): string[] => Array.from({ length: next() % 12 }, () => `l${next() % 4}`);
    for (let round = 0; round < 300; round++) {
      const [a, b] = [some(), some()];
      const lines = lineDiff(a.join('\n'), b.join('\n'));
      expect(lines.filter((line) => line.kind !== 'new').map((line) => line.text)).toEqual(a);
      expect(lines.filter((line) => line.kind !== 'gone').map((line) => line.text)).toEqual(b);
    }
  });
  it('does not take for ever over two long texts', () => {
    const long = (word: string): string =>
      Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`).join('\n');
    expect(lineDiff(long('a'), long('b'))).toHaveLength(10_000);
  });
});
