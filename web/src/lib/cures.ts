/** What somebody at the page can do about a refusal, where the words of the service are for programs. */

const CURES: Readonly<Record<string, string>> = {
  unreachable: 'It is asked again as soon as you do something, or load the page again.',
  records_unavailable:
    'The database does not answer; what is in force stays in force. Try again in a moment.',
  version_conflict: 'Close this, look at what is there now, and do it again if it is still right.',
  busy: 'Others are having rules put together. Try again in a moment.',
  role_too_low: 'Sign out, and sign in with a token that may: tollgate token create --role admin',
  store_unavailable: 'The shared store does not answer. Try again in a moment.',
};

/** Nothing, where the service has said enough. */
export function cureOf(reason: string): string {
  return CURES[reason] ?? '';
}
