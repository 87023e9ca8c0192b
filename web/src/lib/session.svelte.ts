/** Who is signed in, as the service says. The page keeps no token: the browser keeps a cookie that no script can read. */

import { ask, Problem, whenSignedOut } from './api';

export type Role = 'viewer' | 'operator' | 'admin';

export interface Who {
  readonly name: string;
  readonly token: string | null;
  readonly role: Role;
  /** Whether a cookie of ours says so. */
  readonly session?: boolean;
  /** No token is configured at all: this machine may look without one. */
  readonly open?: boolean;
}

export type Standing = 'asking' | 'signed-in' | 'signed-out' | 'unreachable';

let who = $state.raw<Who | null>(null);
let standing = $state<Standing>('asking');
/** Why whoever was signed in, or came by a link with a token, is not. */
let whyOut = $state.raw<Problem | null>(null);
/** Whether the playground is open to strangers. */
let isPlaygroundOpen = $state(false);

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

/** Asks the service who we are. */
export async function look(): Promise<void> {
  try {
    who = await ask<Who>('/admin/v1/whoami');
    standing = 'signed-in';
    whyOut = null;
  } catch (error) {
    who = null;
    standing = error instanceof Problem && error.status === 0 ? 'unreachable' : 'signed-out';
  }
  try {
    isPlaygroundOpen = (await ask<{ open: boolean }>('/admin/v1/playground')).open;
  } catch {
    isPlaygroundOpen = false;
  }
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

/** Signs in by `#sign-in=TOKEN`, as `tollgate demo --live` prints it, and takes the token out of the address. */
export async function begin(): Promise<void> {
  const given = /^#sign-in=(.+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    try {
      await signIn(decodeURIComponent(given));
      return;
    } catch (error) {
      if (error instanceof Problem) whyOut = error;
    }
  }
  await look();
}

// Of several tabs that were signed out, all are signed in again where one is.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && standing === 'signed-out') void look();
});
