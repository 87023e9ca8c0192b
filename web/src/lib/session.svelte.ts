/** Who is signed in, as the service says. The page keeps no token: the browser keeps a cookie that no script can read. */

import { ask, Problem, whenSignedOut } from './api';

export type Role = 'viewer' | 'operator' | 'admin';

export interface Who {
  readonly name: string;
  readonly token: string | null;
  readonly role: Role;
  /** Whether a cookie of ours says so. */
  readonly session?: boolean;
  /** The page came over a Unix socket, which may read without a token while there is none. */
  readonly open?: boolean;
}

export type Standing = 'asking' | 'signed-in' | 'signed-out' | 'unreachable';

let who = $state.raw<Who | null>(null);
let standing = $state<Standing>('asking');
/** Why whoever was signed in, or came by a link with a token, is not. */
let whyOut = $state.raw<Problem | null>(null);
/** Whether the playground is open to strangers. */
let isPlaygroundOpen = $state(false);
/** The token of a link that would replace the session, until the user answers. */
let offered = $state.raw<string | null>(null);

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

export const session = {
  get who(): Who | null {
    return who;
  },
  get standing(): Standing {
    return standing;
  },
  /** Why there is a sign-in to do, where it is not simply the first. */
  get whyOut(): Problem | null {
    return whyOut;
  },
  get isPlaygroundOpen(): boolean {
    return isPlaygroundOpen;
  },
  /** Number of the token in a link that waits for an answer, or `null`. */
  get offeredToken(): string | null {
    return offered === null ? null : tokenNumber(offered);
  },
  /** Whether whoever is signed in may do what takes this role. */
  may(role: Role): boolean {
    return who !== null && RANK[who.role] >= RANK[role];
  },
};

whenSignedOut((why) => {
  // Who was never in needs no reason; who was, is told the first.
  if (who !== null) whyOut = why;
  who = null;
  standing = 'signed-out';
});

/** Asks the service who we are. Returns whether it said so: a failed request (429, 503) tells nothing about the session. */
export async function look(): Promise<boolean> {
  let isKnown = true;
  try {
    who = await ask<Who>('/admin/v1/whoami');
    standing = 'signed-in';
    whyOut = null;
  } catch (error) {
    isKnown = error instanceof Problem && error.status === 401;
    who = null;
    standing = error instanceof Problem && error.status === 0 ? 'unreachable' : 'signed-out';
  }
  try {
    isPlaygroundOpen = (await ask<{ open: boolean }>('/admin/v1/playground')).open;
  } catch {
    isPlaygroundOpen = false;
  }
  return isKnown;
}

/** Signs in; throws a {@link Problem} that says why not. */
export async function signIn(token: string): Promise<void> {
  await ask('/admin/v1/session', { method: 'POST', headers: { authorization: `Bearer ${token.trim()}` } });
  await look();
}

export async function signOut(): Promise<void> {
  try {
    await ask('/admin/v1/session', { method: 'DELETE' });
    who = null;
  } catch {
    // Whether anybody answers, and who we still are, is looked at now.
  }
  await look();
}

/** Signs in with the token of the link, which replaces the session. */
export async function acceptOffered(): Promise<void> {
  if (offered !== null) await signIn(offered);
}

export function dismissOffered(): void {
  offered = null;
}

/** The number in `tg_<number>_<secret>`; other tokens have none. */
function tokenNumber(token: string): string {
  return /^tg_([^_]+)_/.exec(token)?.[1] ?? 'without a number';
}

/**
 * Signs in by `#sign-in=TOKEN`, as `tollgate serve` and `tollgate demo --live` print it, and takes the token out of the address. A link
 * with another token than that of the open session waits for {@link acceptOffered}: what is done next is signed with its name.
 */
export async function begin(): Promise<void> {
  const given = linkedToken();
  const isKnown = await look();
  if (given === null) return;
  if (!isKnown || (who?.session === true && who.token !== tokenNumber(given))) {
    offered = given;
    return;
  }
  try {
    await signIn(given);
  } catch (error) {
    if (error instanceof Problem) whyOut = error;
  }
}

function linkedToken(): string | null {
  const given = /^#sign-in=(.+)$/.exec(location.hash)?.[1];
  if (given === undefined) return null;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    return decodeURIComponent(given);
  } catch {
    return given;
  }
}

// Of several tabs that were signed out, all are signed in again where one is.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && standing === 'signed-out') void look();
});
