/** Two texts, line by line: what stays, what goes, what comes. */

export type LineKind = 'same' | 'gone' | 'new';

export interface DiffLine {
  readonly kind: LineKind;
  readonly text: string;
  /** Its number in the text before; `null` if it is new. */
  readonly before: number | null;
  /** Its number in the text after; `null` if it is gone. */
  readonly after: number | null;
}

/** Most pairs of lines that are compared; beyond that all that differs is shown as replaced. */
const PAIRS_MAX = 4_000_000;

export function lineDiff(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [c, d] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const kinds: LineKind[] = [
    ...Array<LineKind>(head).fill('same'),
    ...middle(c, d),
    ...Array<LineKind>(tail).fill('same'),
  ];
  let [i, j] = [0, 0];
  return kinds.map((kind) => {
    const text = (kind === 'new' ? b[j] : a[i]) ?? '';
    return {
      kind,
      text,
      before: kind === 'new' ? null : ++i,
      after: kind === 'gone' ? null : ++j,
    };
  });
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** By the longest lines in common. */
function middle(a: readonly string[], b: readonly string[]): LineKind[] {
  const width = b.length + 1;
  if (a.length * b.length > PAIRS_MAX)
    return [...a.map((): LineKind => 'gone'), ...b.map((): LineKind => 'new')];
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const kinds: LineKind[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      kinds.push('same');
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      kinds.push('gone');
      i++;
    } else {
      kinds.push('new');
      j++;
    }
  }
  return kinds;
}
