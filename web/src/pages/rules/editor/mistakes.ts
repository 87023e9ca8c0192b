/** What the service finds wrong with a text, each with its place in it. */

/** One mistake. */
export interface Mistake {
  /** From 1; `null` if it is about the whole. */
  readonly line: number | null;
  readonly column: number;
  readonly field: string;
  readonly message: string;
  readonly cure: string;
}

const SHAPE = /^(?:entry "(?:[^"\\]|\\.)*"|[^:`]*?)(?:, line (\d+), column (\d+))?:(?: `([^`]+)`:)? (.+)$/;

/** A line such as `entry "x", line 3, column 5: `burst`: it is 0; use 1 or more`. */
export function readMistake(told: string): Mistake {
  const [, line, column, field = '', rest = told] = SHAPE.exec(told) ?? [];
  const end = rest.indexOf('; ');
  return {
    line: line === undefined ? null : Number(line),
    column: column === undefined ? 1 : Number(column),
    field,
    message: end < 0 ? rest : rest.slice(0, end),
    cure: end < 0 ? '' : rest.slice(end + 2),
  };
}

/**
 * The same mistakes at lines of the text that is being typed. What the service reads once more after it was brought into its one form has
 * lines of that form: such a mistake is looked for by its field.
 */
export function placedByField(mistakes: readonly Mistake[], text: string): Mistake[] {
  const lines = text.split('\n');
  return mistakes.map((mistake) => {
    const last = /([^.[\]]+)(?:\[\d+\])*$/.exec(mistake.field)?.[1];
    const at = last === undefined ? -1 : lines.findIndex((line) => says(line, last));
    return { ...mistake, line: at < 0 ? null : at + 1, column: 1 };
  });
}

function says(line: string, field: string): boolean {
  const found = /^[\s-]*["']?([^"':]+)["']?\s*:/.exec(line)?.[1];
  return found === field;
}
