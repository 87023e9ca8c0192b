import { describe, expect, it } from 'vitest';
import { placedByField, readMistake } from './mistakes';

describe('a mistake as the service tells it', () => {
  it('has a place, a field, what is wrong and the cure', () => {
    const told =
      'entry "per user", line 4, column 1: `capacity`: a rule has no field `capacity`; write `burst`';
    expect(readMistake(told)).toEqual({
      line: 4,
      column: 1,
      field: 'capacity',
      message: 'a rule has no field `capacity`',
      cure: 'write `burst`',
    });
  });
  it('may be about the whole, and of a name that looks like something else', () => {
    expect(readMistake('entry "a, line 9: \\"x", line 2, column 3: it is empty; write a rule')).toMatchObject(
      {
        line: 2,
        column: 3,
        message: 'it is empty',
      },
    );
    expect(readMistake('row 7: `scope`: it is `x`; use user')).toMatchObject({ line: null, field: 'scope' });
    expect(readMistake('something else')).toMatchObject({ line: null, message: 'something else', cure: '' });
  });
});

describe('a mistake in the form that the service keeps', () => {
  const text = '# A comment.\nname: a\nmatch:\n  path: /x\nburst: 0\n';
  const of = (field: string) => readMistake(`entry "a", line 1, column 1: \`${field}\`: wrong; mend it`);
  it('is found by its field in the text that was typed', () => {
    const lines = ['burst', 'match.path', 'rules[0].burst', 'nothing'].map(of);
    expect(placedByField(lines, text).map((mistake) => mistake.line)).toEqual([5, 4, 5, null]);
  });
});
