/** What the JSON schema of policies lets stand at a place. It follows references and choices; it judges nothing: the service does that. */

import { ITEM, type YamlPlace } from './yaml-place';

export interface Word {
  readonly label: string;
  /** For people. */
  readonly info: string;
  readonly kind: 'field' | 'value';
}

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly if?: Schema;
  readonly then?: Schema;
  readonly else?: Schema;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** How deep references and choices may lead; the schema needs far less. */
const DEPTH_MAX = 8;

/** What may stand at a place in the text of one rule or one group. */
export function schemaWords(document: unknown, text: string, place: YamlPlace): Word[] {
  const root = document as Schema;
  const rule = root.$defs?.rule;
  const group = root.$defs?.group;
  const isGroup = /^(\s*\{)?\s*["']?group["']?\s*:/m.test(text.replaceAll(/^[ \t]+.*$/gm, ''));
  const isBare = !/^[^\s#].*:/m.test(text.slice(0, place.from));
  let found = [isGroup ? [group] : [], isGroup && !isBare ? [] : [rule], isBare && !isGroup ? [group] : []]
    .flat()
    .filter((schema) => schema !== undefined)
    .flatMap((schema) => choices(root, schema));
  for (const step of place.path) found = found.flatMap((schema) => into(root, schema, step));
  const words = place.kind === 'field' ? found.flatMap(fieldsOf) : [];
  // What begins an item of a list may also be its value.
  if (place.kind === 'value' || place.path.at(-1) === ITEM) words.push(...found.flatMap(valuesOf));
  const seen = new Set(place.siblings);
  return words.filter(({ label }) => !seen.has(label) && seen.add(label));
}

/** A schema without references: all that it may be. A description beside a reference is worth more than the one behind it. */
function choices(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > DEPTH_MAX) return [];
  const told = (other: Schema): Schema =>
    schema.description === undefined ? other : { ...other, description: schema.description };
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/$defs/', '');
    const meant = root.$defs?.[name];
    return meant ? choices(root, told(meant), depth + 1) : [];
  }
  const branches = [schema.anyOf ?? [], schema.then ?? [], schema.else ?? []].flat();
  if (branches.length === 0) return [schema];
  return branches.flatMap((branch) =>
    choices(root, told({ ...(schema.examples ? { examples: schema.examples } : {}), ...branch }), depth + 1),
  );
}

function into(root: Schema, schema: Schema, step: string): Schema[] {
  if (step === ITEM) return schema.items ? choices(root, schema.items) : [];
  const own = schema.properties?.[step];
  if (own) return choices(root, own);
  const patterns = Object.entries(schema.patternProperties ?? {});
  return patterns
    .filter(([pattern]) => new RegExp(pattern).test(step))
    .flatMap(([, of]) => choices(root, of));
}

function fieldsOf(schema: Schema): Word[] {
  return Object.entries(schema.properties ?? {})
    .filter(([label]) => label !== '$schema')
    .map(([label, of]) => ({ label, info: of.description ?? '', kind: 'field' }));
}

function valuesOf(schema: Schema): Word[] {
  const fixed = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  const either = schema.type === 'boolean' ? [true, false] : [];
  return [...fixed, ...either, ...(schema.examples ?? [])].map((value) => ({
    label: String(value),
    info: schema.description ?? '',
    kind: 'value',
  }));
}
