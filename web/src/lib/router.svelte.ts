/** Which page is shown, by the address: `/rules/per-user?version=7`. Links are ordinary links; {@link follow} keeps the page. */

export interface Place {
  /** Segments of the path, decoded. */
  readonly segments: readonly string[];
  readonly search: URLSearchParams;
}

function here(): Place {
  const decoded = (segment: string): string => {
    try {
      return decodeURIComponent(segment);
    } catch {
      return segment;
    }
  };
  const segments = location.pathname.split('/').filter((segment) => segment !== '');
  return { segments: segments.map(decoded), search: new URLSearchParams(location.search) };
}

let place = $state.raw<Place>(here());

export const router = {
  get place(): Place {
    return place;
  },
  /** The first segment: '' for the live page. */
  get page(): string {
    return place.segments[0] ?? '';
  },
};

/** Goes somewhere else within the page. */
export function go(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  place = here();
}

addEventListener('popstate', () => {
  place = here();
});

/** For `onclick` around links: follows links within the page without leaving it. */
export function follow(event: MouseEvent): void {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname.startsWith('/admin/') || link.pathname === '/metrics') return;
  if (link.pathname === location.pathname && link.search === location.search && link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
  scrollTo(0, 0);
}
