/**
 * Text that clients chose, as it may be shown: what nobody sees, and what would turn the line round, stands there in letters, as in the
 * command and in exports. So no client reads like another.
 */

/** Controls, and what has no shape of its own but changes how the rest looks. */
const UNSEEN =
  /[\p{Cc}\u{ad}\u{61c}\u{180e}\u{feff}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function visible(text: string): string {
  return text.replace(UNSEEN, (sign) => {
    const code = (sign.codePointAt(0) ?? 0).toString(16);
    return (
      NAMED[sign] ?? (code.length <= 2 && sign < '\x80' ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`)
    );
  });
}
