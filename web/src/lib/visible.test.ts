import { expect, test } from 'vitest';
import { visible } from './visible';

test('a name cannot be turned round to read like another', () => {
  expect(visible('user:\u202eevil\u202c')).toBe('user:\\u{202e}evil\\u{202c}');
  expect(visible('ad\u200bmin\u{e0041}')).toBe('ad\\u{200b}min\\u{e0041}');
});

test('controls stand there in letters, as in the command', () => {
  expect(visible('a\x1b[31mb\nc\r\t\x7f\0\x9b')).toBe('a\\x1b[31mb\\nc\\r\\t\\x7f\\x00\\u{9b}');
});

test('all that is seen stays', () => {
  for (const text of ['user:ann', 'é😀 שלום', '<img src=x onerror=alert(1)>', '']) {
    expect(visible(text)).toBe(text);
  }
});
