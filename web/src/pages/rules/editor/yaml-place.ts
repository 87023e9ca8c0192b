/**
 * Where in a YAML text somebody is typing: which field of which mapping, by the indentation above and the brackets before. It reads half a
 * text without complaint, and gives up (`null`) rather than guess.
 *
 *     rules:
 *       - name: free
 *         sco|          a field of [rules, ITEM]
 */

/** Stands for any item of a list in a path. */
export const ITEM = '[]';

export interface YamlPlace {
  /** A field is being named, or given a value. */
  readonly kind: 'field' | 'value';
  /** The mapping whose field it is; of a value, with the field itself. */
  readonly path: readonly string[];
  /** What is typed of it so far, and where that begins. */
  readonly typed: string;
  readonly from: number;
  /** Fields that the mapping has already, as far as can be told. */
  readonly siblings: readonly string[];
}

interface Line {
  /** Columns of the dashes before the content. */
  readonly dashes: readonly number[];
  /** Where the content begins. */
  readonly column: number;
  readonly content: string;
}

const FIELD = /^(?:"([^"]*)"|'([^']*)'|([^\s"'{}[\],#&*!|>%@`][^#]*?))\s*:(?:\s+|$)/;

export function yamlPlace(text: string, position: number): YamlPlace | null {
  const lines = text.split('\n');
  const at = text.slice(0, position).split('\n').length - 1;
  const begin = position - (text.slice(0, position).length - text.slice(0, position).lastIndexOf('\n') - 1);
  const typedLine = text.slice(begin, position);
  if (/(^|\s)#/.test(typedLine)) return null;
  const here = lineOf(typedLine);
  const { path, siblings } = around(lines, at, here);
  const field = FIELD.exec(here.content);
  const named = field ? (field[1] ?? field[2] ?? field[3] ?? '') : null;
  const rest = field ? here.content.slice(field[0].length) : here.content;
  const inside = named === null ? path : [...path, named];
  if (/^[{[]/.test(rest)) return withinBrackets(rest, inside, position);
  if (named !== null) {
    if (!/[:\s]$/.test(field?.[0] ?? '')) return null;
    return { kind: 'value', path: inside, typed: rest, from: position - rest.length, siblings: [] };
  }
  if (/\s/.test(rest)) return null;
  const typed = rest.replace(/^["']/, '');
  return { kind: 'field', path, typed, from: position - rest.length, siblings };
}

function lineOf(text: string): Line {
  const dashes: number[] = [];
  let column = /^ */.exec(text)?.[0].length ?? 0;
  for (;;) {
    const dash = /^-( +|$)/.exec(text.slice(column));
    if (!dash) return { dashes, column, content: text.slice(column) };
    dashes.push(column);
    column += dash[0].length;
  }
}

function isEmpty(line: Line): boolean {
  return line.content.trim() === '' ? line.dashes.length === 0 : line.content.startsWith('#');
}

/** The path to the mapping or list that a line is in, and its other fields. */
function around(lines: readonly string[], at: number, here: Line): { path: string[]; siblings: string[] } {
  const path: string[] = [];
  const siblings: string[] = [];
  let { column } = here;
  let isDash = false;
  const pass = (dashes: readonly number[]): void => {
    for (const dash of dashes.toReversed()) {
      path.unshift(ITEM);
      column = dash;
      isDash = true;
    }
  };
  const isFirst = (): boolean => path.length === 0;
  pass(here.dashes);
  const isItemItself = here.dashes.length > 0;
  for (let above = at - 1; above >= 0; above--) {
    const line = lineOf(lines[above] ?? '');
    if (isEmpty(line)) continue;
    const name = FIELD.exec(line.content);
    const called = name ? (name[1] ?? name[2] ?? name[3] ?? '') : null;
    const isOpen = called !== null && line.content.slice(name?.[0].length).trim() === '';
    if (line.column === column && !isDash) {
      if (called !== null && isFirst()) siblings.push(called);
      pass(line.dashes);
    } else if (isOpen && called !== null && (line.column < column || (line.column === column && isDash))) {
      path.unshift(called);
      column = line.column;
      isDash = false;
      pass(line.dashes);
    }
  }
  for (let below = at + 1; below < lines.length; below++) {
    const line = lineOf(lines[below] ?? '');
    if (isEmpty(line)) continue;
    const edge = line.dashes[0] ?? line.column;
    if (edge < here.column) break;
    const name = FIELD.exec(line.content);
    if (name && line.column === here.column && line.dashes.length === 0)
      siblings.push(name[1] ?? name[2] ?? name[3] ?? '');
  }
  return { path, siblings: isItemItself && siblings.length === 0 ? [] : siblings };
}

/** Within `{…}` or `[…]` of one line. */
function withinBrackets(text: string, path: readonly string[], position: number): YamlPlace | null {
  const stack: { readonly open: string; readonly path: readonly string[]; readonly names: string[] }[] = [];
  let named: string | null = null;
  let begin = 0;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    const top = stack.at(-1);
    if (quote !== '') {
      if (sign === quote) quote = '';
    } else if (sign === '"' || sign === "'") {
      quote = sign;
    } else if (sign === '{' || sign === '[') {
      const outer = top ? inner(top, named) : path;
      stack.push({ open: sign, path: sign === '[' ? [...outer, ITEM] : outer, names: [] });
      named = null;
      begin = at + 1;
    } else if (sign === '}' || sign === ']') {
      stack.pop();
      named = null;
      begin = at + 1;
    } else if (sign === ',') {
      named = null;
      begin = at + 1;
    } else if (sign === ':' && top?.open === '{' && named === null && /^(\s|$)/.test(text.slice(at + 1))) {
      named = text.slice(begin, at).trim().replaceAll(/["']/g, '');
      top.names.push(named);
      begin = at + 1;
    }
  }
  const top = stack.at(-1);
  if (!top) return null;
  const typed = text.slice(begin).trimStart();
  const from = position - typed.length;
  if (top.open === '{' && named === null) {
    return { kind: 'field', path: top.path, typed, from, siblings: top.names };
  }
  return { kind: 'value', path: inner(top, named), typed, from, siblings: [] };
}

function inner(top: { readonly path: readonly string[] }, named: string | null): readonly string[] {
  return named === null ? top.path : [...top.path, named];
}
