import { describe, expect, it } from 'vitest';
import { yamlPlace } from './yaml-place';

/** The place of the `|`, as `kind path typed`. */
function place(text: string): string {
  const at = text.indexOf('|');
  const found = yamlPlace(text.replace('|', ''), at);
  return found ? `${found.kind} ${found.path.join('.')} ${found.typed}` : 'nowhere';
}

function siblings(text: string): readonly string[] {
  return yamlPlace(text.replace('|', ''), text.indexOf('|'))?.siblings ?? [];
}

describe('where somebody is typing', () => {
  it('is a field or a value of a plain mapping', () => {
    expect(place('|')).toBe('field  ');
    expect(place('name: a\nsco|')).toBe('field  sco');
    expect(place('name: a\nscope: us|\nburst: 1')).toBe('value scope us');
    expect(place('"scope": |')).toBe('value scope ');
  });
  it('is within the mapping that is indented less', () => {
    expect(place('match:\n  path: /x\n  met|\nrate: 1/s')).toBe('field match met');
    expect(place('match:\n  not:\n    # why\n\n    path: /|')).toBe('value match.not.path /');
    expect(place('match:\n  path: /x\nra|')).toBe('field  ra');
  });
  it('is within items of lists, indented or not', () => {
    expect(place('group: a\nrules:\n  - name: free\n    sc|')).toBe('field rules.[] sc');
    expect(place('rules:\n- name: free\n  scope: |')).toBe('value rules.[].scope ');
    expect(place('rules:\n  - na|')).toBe('field rules.[] na');
    expect(place('limit_keys:\n  - us|')).toBe('field limit_keys.[] us');
    expect(place('rules:\n  - name: a\n    match:\n      any:\n        - path: /x\n          ho|')).toBe(
      'field rules.[].match.any.[] ho',
    );
  });
  it('is within brackets of one line', () => {
    expect(place('{name: a, sc|')).toBe('field  sc');
    expect(place('match: {path: /x, meth|}')).toBe('field match meth');
    expect(place('rules:\n  - {name: a, scope: us|')).toBe('value rules.[].scope us');
    expect(place('method: [GET, PO|')).toBe('value method.[] PO');
    expect(place("match: {'header:x': {re|")).toBe('field match.header:x re');
  });
  it('is nowhere in a comment or in running text', () => {
    expect(place('name: a # sco|')).toBe('nowhere');
    expect(place('some words|')).toBe('nowhere');
  });
  it('knows the fields that are there already', () => {
    expect(siblings('name: a\n|\nburst: 1\n')).toEqual(['name', 'burst']);
    expect(siblings('rules:\n  - name: a\n    |\n    rate: 1/s\n  - name: b\n    mode: off\n')).toEqual([
      'name',
      'rate',
    ]);
    expect(siblings('{name: a, rate: 1/s, |')).toEqual(['name', 'rate']);
  });
});
