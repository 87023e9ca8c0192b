import { describe, expect, it } from 'vitest';
import { schemaWords } from './schema-words';
import { yamlPlace } from './yaml-place';

/** Of the same shape as the service's: references with a description, one or more, tiers, patterns. */
const SCHEMA = {
  $defs: {
    rule: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        scope: { enum: ['user', 'ip'], description: 'What it is about.' },
        match: { $ref: '#/$defs/match', description: 'Which requests.' },
        method: { $ref: '#/$defs/methods' },
        rate: { $ref: '#/$defs/rate', description: 'How fast.' },
        strict_slash: { type: 'boolean' },
      },
    },
    group: {
      type: 'object',
      properties: {
        group: { type: 'string' },
        combine: { enum: ['first', 'all'] },
        rules: { type: 'array', items: { $ref: '#/$defs/rule' } },
      },
    },
    match: {
      type: ['object', 'null'],
      properties: { path: { type: 'string' }, not: { $ref: '#/$defs/match' } },
      patternProperties: { '^header:.+$': { $ref: '#/$defs/test' } },
    },
    test: {
      anyOf: [
        { type: 'string' },
        { type: 'object', properties: { regex: {}, present: { type: 'boolean' } } },
      ],
    },
    methods: { anyOf: [{ enum: ['GET', 'POST'] }, { type: 'array', items: { enum: ['GET', 'POST'] } }] },
    rate: { anyOf: [{ type: 'number' }, { type: 'string' }], examples: ['10/s'] },
  },
};

function words(marked: string): string[] {
  const text = marked.replace('|', '');
  const place = yamlPlace(text, marked.indexOf('|'));
  return place ? schemaWords(SCHEMA, text, place).map((word) => word.label) : [];
}

describe('what may stand at a place', () => {
  it('is a field of the rule that is not there yet', () => {
    expect(words('name: a\n|')).toEqual(['scope', 'match', 'method', 'rate', 'strict_slash']);
    expect(words('|')).toContain('group');
  });
  it('is a value by a list of words, an example, or yes and no', () => {
    expect(words('scope: |')).toEqual(['user', 'ip']);
    expect(words('rate: |')).toEqual(['10/s']);
    expect(words('strict_slash: |')).toEqual(['true', 'false']);
    expect(words('method: [GET, |')).toEqual(['GET', 'POST']);
    expect(words('method:\n  - |')).toEqual(['GET', 'POST']);
  });
  it('follows references, patterns and groups', () => {
    expect(words('match:\n  not:\n    |')).toEqual(['path', 'not']);
    expect(words("match: {'header:x': {|")).toEqual(['regex', 'present']);
    expect(words('group: a\ncombine: first\nrules:\n  - name: x\n    sc|')).toContain('scope');
    expect(words('group: a\n|')).toEqual(['combine', 'rules']);
  });
  it('tells what a field is for', () => {
    const place = yamlPlace('ma', 2);
    const found = place && schemaWords(SCHEMA, 'ma', place).find((word) => word.label === 'match');
    expect(found?.info).toBe('Which requests.');
  });
});
