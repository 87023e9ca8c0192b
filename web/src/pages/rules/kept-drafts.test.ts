import { describe, expect, it } from 'vitest';
import type { RuleText } from '../../lib/rules';
import { DRAFTS_MAX, KeptDrafts } from './kept-drafts';

function rule(name: string, text = `name: ${name}\n`): RuleText {
  return { name, source: 'record', text, active: true, description: null, in_file: false, version: 3 };
}

/** What a tab stores, up to so many characters. */
function tab(charactersMax = Infinity): () => Pick<Storage, 'getItem' | 'setItem'> {
  const stored = new Map<string, string>();
  return () => ({
    getItem: (name) => stored.get(name) ?? null,
    setItem: (name, value) => {
      if (value.length > charactersMax) throw new Error('the quota is exceeded');
      stored.set(name, value);
    },
  });
}

describe('a draft', () => {
  it('is found again after a reload, with what it is a change of', () => {
    const storage = tab();
    const before = new KeptDrafts(storage);
    before.keep(rule('search'), 'burst: 3\n', 1_000);
    before.keep(null, 'name: fresh\n', 2_000);
    const after = new KeptDrafts(storage);
    expect(after.of('search')).toEqual({ base: rule('search'), text: 'burst: 3\n', atMs: 1_000 });
    expect(after.of()).toEqual({ base: null, text: 'name: fresh\n', atMs: 2_000 });
    expect(after.of('login')).toBeUndefined();
  });

  it('is gone when it is forgotten, and stays gone', () => {
    const storage = tab();
    const drafts = new KeptDrafts(storage);
    drafts.keep(rule('search'), 'burst: 3\n', 1_000);
    drafts.forget('search');
    expect(drafts.of('search')).toBeUndefined();
    expect(new KeptDrafts(storage).of('search')).toBeUndefined();
  });

  it('has the time when it was changed, not when it was looked at', () => {
    const drafts = new KeptDrafts(tab());
    drafts.keep(rule('search'), 'burst: 3\n', 1_000);
    drafts.keep(rule('search'), 'burst: 3\n', 2_000);
    expect(drafts.of('search')?.atMs).toBe(1_000);
    drafts.keep(rule('search', 'theirs'), 'burst: 3\n', 3_000);
    expect(drafts.of('search')).toMatchObject({ atMs: 3_000, base: { text: 'theirs' } });
  });

  it('gives way when there are too many, the oldest first', () => {
    const storage = tab();
    const drafts = new KeptDrafts(storage);
    for (let at = 0; at <= DRAFTS_MAX; at += 1) {
      drafts.keep(rule(`r${at}`), 'x', at);
      if (at === 5) drafts.keep(rule('r0'), 'y', at);
    }
    for (const known of [drafts, new KeptDrafts(storage)]) {
      expect(known.of('r1')).toBeUndefined();
      expect(known.of('r0')?.text).toBe('y');
      expect(known.of(`r${DRAFTS_MAX}`)?.text).toBe('x');
    }
  });

  it('is kept while the page is open where nothing can be stored, and it is known that a reload would lose it', () => {
    const forbidden = new KeptDrafts(() => {
      throw new Error('storage is forbidden');
    });
    const small = new KeptDrafts(tab(300));
    for (const drafts of [forbidden, small]) {
      drafts.keep(rule('search'), 'x'.repeat(300), 1_000);
      expect(drafts.of('search')?.atMs).toBe(1_000);
      expect(drafts.isStored).toBe(false);
    }
    small.forget('search');
    expect(small.isStored).toBe(true);
  });

  it('is not made of what something else has stored', () => {
    const base = rule('search');
    for (const said of [
      '{',
      '{}',
      '[null]',
      '[["search"]]',
      '[["search",{"text":1,"atMs":1,"base":null}]]',
      JSON.stringify([['search', { text: 'x', atMs: 1, base: null }]]),
      JSON.stringify([['other', { text: 'x', atMs: 1, base }]]),
    ]) {
      const storage = tab();
      storage().setItem('tollgate.drafts', said);
      const drafts = new KeptDrafts(storage);
      expect([drafts.of('search'), drafts.of('other'), drafts.of()]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    }
  });
});
