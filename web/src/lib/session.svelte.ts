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
/** Why the token of the address was not taken. */
let refusal = $state.raw<unknown>(null);
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
  get refusal(): unknown {
    return refusal;
  },
  get isPlaygroundOpen(): boolean {
    return isPlaygroundOpen;
  },
  /** Whether whoever is signed in may do what takes this role. */
  may(role: Role): boolean {
    return who !== null && RANK[who.role] >= RANK[role];
  },
};

whenSignedOut(() => {
  who = null;
  standing = 'signed-out';
});

/** Asks the service who we are. */
export async function look(): Promise<void> {
  try {
    who = await ask<Who>('/admin/v1/whoami');
    standing = 'signed-in';
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
  refusal = null;
  await ask('/admin/v1/session', { method: 'POST', headers: { authorization: `Bearer ${token.trim()}` } });
  await look();
}

export async function signOut(): Promise<void> {
  await ask('/admin/v1/session', { method: 'DELETE' });
  await look();
}

/** The token of `#sign-in=TOKEN`, as `tollgate demo --live` prints it, taken out of the address. */
function tokenOfAddress(): string | undefined {
  const given = /^#sign-in=(.+)$/.exec(location.hash)?.[1];
  if (given === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    return decodeURIComponent(given);
  } catch {
    return given;
  }
}

/** Signs in by the address, if it has a token; otherwise asks who we are. */
export async function begin(): Promise<void> {
  const token = tokenOfAddress();
  if (token !== undefined) {
    try {
      await signIn(token);
      return;
    } catch (error) {
      refusal = error;
    }
  }
  await look();
}

// A link with a token may be opened where the page is open already.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#sign-in=')) void begin();
});
