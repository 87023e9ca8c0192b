/**
 * The editor itself: CodeMirror, loaded when somebody edits and not before. It lives in a shadow root, where its styles are adopted and no
 * style element is needed, which the page's policy forbids. Colours come in by the custom properties of the page.
 */

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, type Transaction } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Mistake } from './mistakes';
import { schemaWords } from './schema-words';
import { yamlPlace } from './yaml-place';

export interface EditorOptions {
  readonly host: HTMLElement;
  readonly text: string;
  /** What it is called for those who do not see it. */
  readonly label: string;
  readonly isReadOnly: boolean;
  /** The JSON schema of policies, when it is there. */
  readonly schema: () => unknown;
  readonly onchange: (text: string) => void;
  /** Ctrl+S. */
  readonly onsave: () => void;
}

export interface OpenEditor {
  setText(text: string): void;
  setMistakes(mistakes: readonly Mistake[]): void;
  focus(): void;
  /** Puts the cursor there, and the keyboard into the editor. */
  goTo(line: number, column: number): void;
  close(): void;
}

export function openEditor(options: EditorOptions): OpenEditor {
  const root = options.host.shadowRoot ?? options.host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: options.text, extensions: extensions(options) }),
  });
  return {
    setText(text) {
      if (text !== view.state.doc.toString())
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    setMistakes(mistakes) {
      view.dispatch(setDiagnostics(view.state, diagnostics(view.state, mistakes)));
    },
    goTo(line, column) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({
        selection: { anchor: Math.min(at.from + column - 1, at.to) },
        effects: EditorView.scrollIntoView(at.from, { y: 'center' }),
      });
      view.focus();
    },
    focus() {
      view.focus();
    },
    close() {
      view.destroy();
    },
  };
}

function extensions(options: EditorOptions) {
  return [
    lineNumbers(),
    lintGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    search({ top: true }),
    indentUnit.of('  '),
    EditorState.tabSize.of(2),
    EditorState.readOnly.of(options.isReadOnly),
    yaml(),
    syntaxHighlighting(colours),
    autocompletion({
      override: [(context) => complete(context, options.schema())],
      icons: false,
      closeOnBlur: false,
    }),
    keymap.of([
      { key: 'Mod-s', run: () => (options.onsave(), true) },
      // Tab takes what is offered; else it leaves the editor, as everywhere on the page.
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': options.label,
      spellcheck: 'false',
      autocapitalize: 'off',
    }),
    EditorView.domEventHandlers({ beforeinput: typedOver }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.onchange(update.state.doc.toString());
    }),
    look,
  ];
}

/**
 * Replaces a selection that is typed over. Browsers that do it themselves keep the looks of what goes by an inline style, which the page's
 * policy forbids.
 */
function typedOver(event: InputEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  const text = event.data ?? '';
  if (event.inputType !== 'insertText' || text === '' || empty || view.composing || view.state.readOnly)
    return false;
  event.preventDefault();
  const typed = (): Transaction =>
    view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
  const handlers = view.state.facet(EditorView.inputHandler);
  if (!handlers.some((handler) => handler(view, from, to, text, typed))) view.dispatch(typed());
  return true;
}

function complete(context: CompletionContext, schema: unknown): CompletionResult | null {
  const text = context.state.doc.toString();
  const place = yamlPlace(text, context.pos);
  if (!place || !schema || (place.typed === '' && !context.explicit && place.kind === 'field')) return null;
  const words = schemaWords(schema, text, place);
  if (words.length === 0) return null;
  const hasColon = /^\s*:/.test(context.state.sliceDoc(context.pos, context.pos + 2));
  return {
    from: place.from,
    options: words.map((word) => ({
      label: word.label,
      type: word.kind === 'field' ? 'property' : 'constant',
      ...(word.info === '' ? {} : { info: word.info }),
      apply: word.kind === 'field' && !hasColon ? `${word.label}: ` : word.label,
    })),
    validFor: /^[\w:./-]*$/,
  };
}

function diagnostics(state: EditorState, mistakes: readonly Mistake[]): Diagnostic[] {
  return mistakes.map((mistake) => {
    const line = state.doc.line(Math.min(Math.max(mistake.line ?? 1, 1), state.doc.lines));
    const from = Math.min(line.from + mistake.column - 1, line.to);
    const word = /^[\w"'./:-]+/.exec(state.sliceDoc(from, line.to))?.[0] ?? '';
    const to = word.length > 0 ? from + word.replace(/:$/, '').length : line.to;
    const message = mistake.cure === '' ? mistake.message : `${mistake.message}\nCure: ${mistake.cure}`;
    return { from, to: Math.max(from, to), severity: 'error', message };
  });
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--admit)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--shadow)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--deny)' },
]);

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '0.875rem', minHeight: '16rem' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content, .cm-gutter': { minHeight: '16rem' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 8%, transparent)',
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent)',
  },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'color-mix(in srgb, var(--admit) 25%, transparent)',
  },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--deny)',
    textUnderlineOffset: '3px',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    fontFamily: 'var(--sans)',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '14rem' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionInfo': { padding: '8px 10px', maxWidth: '20rem' },
  '.cm-diagnostic': { padding: '6px 10px', whiteSpace: 'pre-line', borderLeft: '4px solid var(--deny)' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-textfield': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '4px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: '4px',
  },
});
