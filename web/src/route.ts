// A link to every state of the page: `#/`, `#/s/ID@SEQ?tab=…&mark=…&with=ID@SEQ&live=1`.

export interface Place { session: string; at: number | null }
export type Route =
  | { page: 'sessions'; query: string }
  | { page: 'session'; place: Place; tab: string; mark: number | null; with: Place | null; turn: number | null };

export const TABS = ['seen', 'changes', 'history', 'transcript', 'context', 'request', 'usage', 'cache', 'compactions', 'files', 'events', 'verify'] as const;
export type Tab = (typeof TABS)[number];

const number = (text: string | null | undefined): number | null => (text && /^\d{1,15}$/.test(text) ? Number(text) : null);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function place(text: string): Place {
  const sign = text.lastIndexOf('@');
  const at = sign > 0 ? number(text.slice(sign + 1)) : null;
  return { session: decode(sign > 0 && at !== null ? text.slice(0, sign) : text), at };
}

/** Reads the part of a link after `#`. What is not understood is the list. */
export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const values = new URLSearchParams(query);
  const found = /^\/s\/([^/]+)$/.exec(path);
  if (!found) return { page: 'sessions', query: values.get('q') ?? '' };
  const tab = values.get('tab') ?? 'seen';
  const other = values.get('with');
  return {
    page: 'session',
    place: place(found[1]!),
    tab: (TABS as readonly string[]).includes(tab) ? tab : 'seen',
    mark: number(values.get('mark')),
    with: other ? place(other) : null,
    turn: null,
  };
}

const written = (p: Place) => encodeURIComponent(p.session) + (p.at === null ? '' : `@${p.at}`);

export function format(route: Route): string {
  const values: string[] = [];
  if (route.page === 'sessions') return route.query ? `#/?q=${encodeURIComponent(route.query)}` : '#/';
  if (route.tab !== 'seen') values.push(`tab=${route.tab}`);
  if (route.mark !== null) values.push(`mark=${route.mark}`);
  if (route.with) values.push(`with=${written(route.with)}`);
  return `#/s/${written(route.place)}${values.length ? `?${values.join('&')}` : ''}`;
}

export const linkTo = (session: string, at: number | null = null, tab = 'seen'): string =>
  format({ page: 'session', place: { session, at }, tab, mark: null, with: null, turn: null });
