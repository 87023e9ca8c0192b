/**
 * Text that somebody else wrote, as it may be shown: what would hide, or turn the line round, stands there in letters. The same characters
 * in the same form as the command line. For the eye alone: addresses and requests have the text as it is.
 */

/** Controls, and what has no shape of its own but changes how the rest looks: `is_unseen` of the service. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u180e\ufeff\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text as one line: `\n`, `\x1b`, `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT[character] ?? escaped(character.codePointAt(0) ?? 0));
}

/** The same of a text that may have several lines: its line ends stay. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

function escaped(code: number): string {
  const digits = code.toString(16);
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}
