import { describe, expect, it } from 'vitest';
import { visible, visibleLines } from './visible';

const codes = (...ranges: readonly (readonly [number, number])[]): number[] =>
  ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at));

describe('what nobody sees', () => {
  it('is written out as the command line does', () => {
    expect(visible('a\u001b[31mb\nc\r\t\u007f\0')).toBe('a\\x1b[31mb\\nc\\r\\t\\x7f\\x00');
    expect(visible('\u009b2J')).toBe('\\u{9b}2J');
    expect(visible('user\u202enimda\u200b')).toBe('user\\u{202e}nimda\\u{200b}');
    expect(visible('\ufeffa\u2028b\u{e0041}')).toBe('\\u{feff}a\\u{2028}b\\u{e0041}');
  });

  it('is every character of the set of the service', () => {
    const unseen = codes(
      [0x80, 0x9f],
      [0xad, 0xad],
      [0x61c, 0x61c],
      [0x180e, 0x180e],
      [0x200b, 0x200f],
      [0x2028, 0x202e],
      [0x2060, 0x206f],
      [0xfeff, 0xfeff],
      [0xfff9, 0xfffb],
      [0xe0000, 0xe007f],
    );
    for (const code of unseen)
      expect(visible(`a${String.fromCodePoint(code)}b`)).toBe(`a\\u{${code.toString(16)}}b`);
    const short = codes([0, 8], [0xb, 0xc], [0xe, 0x1f], [0x7f, 0x7f]);
    for (const code of short)
      expect(visible(String.fromCodePoint(code))).toBe(`\\x${code.toString(16).padStart(2, '0')}`);
  });

  it('is nothing else: neighbours of the set, and every script, stay', () => {
    const neighbours = [
      0x20, 0x7e, 0xa0, 0xac, 0xae, 0x61b, 0x61d, 0x180d, 0x200a, 0x2010, 0x2027, 0x202f, 0x205f, 0x2070,
    ];
    for (const code of [...neighbours, 0xfefe, 0xfff8, 0xfffc, 0xe0080])
      expect(visible(String.fromCodePoint(code))).toBe(String.fromCodePoint(code));
    for (const text of ['user:42', 'Zoë 日本 🦀', 'דוד', 'C:\\keys', '']) expect(visible(text)).toBe(text);
  });

  it('keeps lines where they are meant', () => {
    expect(visibleLines('a\n  b\u001b')).toBe('a\n  b\\x1b');
  });
});
