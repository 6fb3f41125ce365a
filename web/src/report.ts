// The data of a report (`annals report`): answers what the server would, from what lies compressed in the file.
import { Api, Problem, type Query } from './api';
import { clock } from './format';
import { errorsOf } from './cuts';
import type { Cache, Compaction, Difference, Info, Json, LogEvent, RequestRow, Session, Span, Step, Turn } from './types';

type Runs = [first: number, count: number][];
type Changes = [cut: number, id: number][];

/** `inspect/src/report.rs` writes it. */
interface Data {
  format: number; session: Session; from: number; turns: Turn[]; cuts: number[]; events: LogEvent[];
  requests: RequestRow[]; rebuilt: { seq: number; rest: { [member: string]: Json }; lists: { [member: string]: Runs } }[];
  bodies: { seq: number; proof: string; digest: string; start: number; end: number; text: string }[];
  seen: { step: Step; spans: Runs; of: number; lacks: string[] }[]; steps: [number: number, seq: number, purpose: string][];
  cache: Cache; compactions: Compaction[]; files: { event: number; action: string; path: string }[];
  views: { history: [cut: number, same: number, runs: Runs][]; transcript: [cut: number, seq: number, id: number][]; baseline: Changes; snapshot: Changes; epochs: Changes; usage: Changes };
  pool: Json[]; verified: { [member: string]: Json }; subagents: Data[];
}

const FORMAT = 3;
const absent = (detail: string) => new Problem(404, 'not in this report', detail);

/** Decodes a block of the file; null if there is none: then this is the page of a server. */
async function block(id: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

export const isReport = (): boolean => document.getElementById('annals-data') !== null;

export interface Report { api: Api; info: Info; session: string }

export async function openReport(): Promise<Report> {
  const bytes = await block('annals-data');
  const data = JSON.parse(new TextDecoder().decode(bytes ?? new Uint8Array())) as Data;
  if (data.format !== FORMAT) throw new Error('This report was written by another version of annals.');
  const last = data.events[data.events.length - 1];
  const info = { version: '', store: `Report${last ? `, events until ${clock(last.at)}` : ''}`, write: false, sessions: 1 + data.subagents.length };
  return { api: new ReportApi(data), info, session: data.session.session };
}

export class ReportApi extends Api {
  private readonly sessions: Map<string, ReportSession>;

  constructor(data: Data) {
    super('');
    this.sessions = new Map([data, ...data.subagents].map((one) => [one.session.session, new ReportSession(one)]));
  }

  /** Everything is here. */
  override ahead(): () => void {
    return () => {};
  }

  override async get<T>(path: string, query: Query = {}): Promise<T> {
    const [session, rest] = this.named(path);
    return session.answer(rest, query) as T;
  }

  override async bytes(path: string): Promise<ArrayBuffer> {
    if (path === '/export') return (await block('annals-export'))!.buffer;
    const [session, rest] = this.named(path);
    return session.body(Number(/requests\/(\d+)/.exec(rest)?.[1] ?? NaN));
  }

  override async post<T>(): Promise<T> {
    throw absent('A report cannot change a session.');
  }

  override async follow(): Promise<void> {
    // A file does not grow.
  }

  private named(path: string): [ReportSession, string] {
    const found = /^\/sessions\/([^/]+)(?:\/(.*))?$/.exec(path);
    const session = found && this.sessions.get(decodeURIComponent(found[1]!));
    if (!session) throw absent('This report holds one session and its sub-agents; this one is not in it.');
    return [session, found[2] ?? ''];
  }
}

/** One session of a report. */
class ReportSession {
  constructor(private readonly data: Data) {}

  /** The exact bytes of a request, put together from what each adds to the one before it. */
  body(step: number): ArrayBuffer {
    const { bodies, requests } = this.data;
    const wanted = bodies.findIndex((body) => body.seq === requests.find((row) => row.number === step)?.seq);
    if (wanted < 0) throw absent(`Its exact bytes are not in this report (annals requests FILE.html --step ${step} --wire prints them, if they are recorded); this is the request in neutral form`);
    let bytes = new Uint8Array();
    for (const { start, end, text } of bodies.slice(0, wanted + 1)) {
      const between = new TextEncoder().encode(text);
      const next = new Uint8Array(start + between.length + end);
      next.set(bytes.subarray(0, start));
      next.set(between, start);
      next.set(bytes.subarray(bytes.length - end), start + between.length);
      bytes = next;
    }
    return bytes.buffer;
  }

  answer(path: string, query: Query): unknown {
    const { data } = this;
    const whole = (name: string, other: number) => (query[name] === undefined || query[name] === null ? other : Number(query[name]));
    const at = whole('at', data.session.head.seq);
    const [name = '', rest = ''] = path.split('/');
    switch (name) {
      case '': return data.session;
      case 'timeline': {
        const limit = whole('limit', 200);
        const turn = Math.max(0, data.turns.filter((one) => one.first < whole('at', 0)).length - 1);
        const from = query.at === undefined ? whole('from', 0) : Math.floor(turn / limit) * limit;
        return { from, ...paged(data.turns, from, limit, 'turns'), total_turns: data.turns.length, head: data.session.head };
      }
      case 'cuts': {
        const cuts = data.cuts.filter((cut) => cut >= whole('from', 0));
        const limit = whole('limit', 200);
        return { cuts: cuts.slice(0, limit), next: cuts[limit] ?? null, total: data.session.head.seq };
      }
      case 'events': {
        const from = whole('from', 0);
        const end = from + whole('limit', 200);
        return { events: data.events.slice(Math.max(0, from - data.from), Math.max(0, end - data.from)), next: end < data.session.head.seq ? end : null };
      }
      case 'views': {
        const view = this.view(rest, at);
        return query.only && Array.isArray(view) ? view.filter((item) => (item as { type?: string } | null)?.type === query.only) : view;
      }
      case 'requests': return rest ? this.request(Number(rest)) : { requests: data.requests.filter((row) => row.seq < at).slice(-whole('last', Infinity)), next: null };
      case 'why': return this.why(at, query);
      case 'axis': return this.axis(whole('at', 0));
      case 'when': return this.when(String(query.text ?? ''));
      case 'diff':
        if (query.other) throw absent('A report does not compare two sessions; annals diff FILE.html OTHER does.');
        return this.diff(whole('from', 0), whole('to', 0));
      case 'cache': {
        const requests = data.cache.requests.filter((row) => row.step.seq < at).slice(-whole('last', Infinity));
        const breaks = requests.filter((row) => row.break);
        return { ...data.cache, requests, breaks: breaks.length, price: breaks.reduce((sum, row) => sum + (row.break!.price ?? 0), 0) };
      }
      case 'compactions': return data.compactions.filter((one) => one.seq < at).slice(-whole('last', Infinity));
      case 'usage': return this.value(data.views.usage, at) ?? {};
      case 'files': {
        const before = data.files.filter((file) => file.event < at).reverse();
        const last = before[whole('limit', 200) - 1]?.event ?? -1;
        const files = before.filter((file) => file.event >= last);
        return { files, next: files.length < before.length ? last : null };
      }
      case 'verify': return { ...data.verified, report: true };
      default: throw absent('A report does not hold this. Ask the annals command: wherever it takes a session, it takes FILE.html.');
    }
  }

  private items(runs: Runs): Json[] {
    return runs.flatMap(([first, length]) => this.data.pool.slice(first, first + length));
  }

  /** The newest value at a Cut. */
  private value(changes: Changes, at: number): Json {
    let id: number | null = null;
    for (const [cut, value] of changes) if (cut <= at) id = value;
    return id === null ? null : this.data.pool[id]!;
  }

  private view(name: string, at: number): Json {
    const { views, pool } = this.data;
    switch (name) {
      case 'history': {
        let list: Json[] = [];
        for (const [cut, same, runs] of views.history) if (cut <= at) list = [...list.slice(0, same), ...this.items(runs)];
        return list;
      }
      case 'transcript': {
        const messages = new Map<number, number>();
        for (const [cut, seq, id] of views.transcript) if (cut <= at) messages.set(seq, id);
        return [...messages].sort(([a], [b]) => a - b).map(([, id]) => pool[id]!);
      }
      case 'baseline': return this.value(views.baseline, at);
      case 'snapshot': return this.value(views.snapshot, at) ?? {};
      case 'epochs': return this.value(views.epochs, at) ?? [];
      case 'usage': return this.value(views.usage, at) ?? {};
      default: throw absent(`A report does not hold the view ${name}. annals replay FILE.html --json prints it.`);
    }
  }

  private request(number: number): Json {
    const row = this.data.requests.find((one) => one.number === number);
    const parts = this.data.rebuilt.find((one) => one.seq === row?.seq);
    if (!parts) throw absent(`Request ${number} is not in this report, which holds the newest ones. annals requests FILE.html --step ${number} prints it.`);
    return { ...parts.rest, ...Object.fromEntries(Object.entries(parts.lists).map(([name, runs]) => [name, this.items(runs)])) };
  }

  private axis(at: number): unknown {
    const { turns, session } = this.data;
    const marks = (kind: string) => turns.flatMap((turn) => turn.marks.filter((mark) => mark.kind === kind).map((mark) => mark.seq));
    const errors = errorsOf(turns);
    return {
      turns: turns.map((turn) => turn.first), errors: errors.map((cut) => cut - 1), compactions: marks('compaction'), epochs: marks('epoch'), head: session.head.seq,
      error_after: errors.find((cut) => cut > at) ?? null, error_before: errors.filter((cut) => cut < at).pop() ?? null,
    };
  }

  private why(at: number, query: Query): unknown {
    const steps = this.data.steps.filter(([number, seq]) => (query.step === undefined ? seq < at : number <= Number(query.step)));
    const newest = steps.filter(([, , purpose]) => purpose === 'turn').pop();
    if (!newest) throw absent('No request up to here.');
    const seen = this.data.seen.find((one) => one.step.number === newest[0]);
    if (!seen) {
      const near = this.data.seen.map((one) => one.step.seq).sort((a, b) => Math.abs(a - newest[1]) - Math.abs(b - newest[1]))[0];
      const other = near === undefined ? '' : ` The nearest one that is in it follows event ${near}.`;
      throw absent(`What the model saw with request ${newest[0]} is not in this report of a long session.${other} annals why FILE.html --step ${newest[0]} prints it.`);
    }
    const text = query.text === undefined ? null : String(query.text);
    const all = (this.items(seen.spans) as unknown as Span[]).filter((span) => text === null || span.text.includes(text));
    const [from, limit, last] = [Number(query.from ?? 0), Number(query.limit ?? all.length), Number(query.last ?? 0)];
    const spans = all.filter((_, place) => (place >= from && place < from + limit) || place >= all.length - last);
    const characters: { [sort: string]: number } = {};
    for (const span of this.items(seen.spans) as unknown as Span[]) characters[span.sort] = (characters[span.sort] ?? 0) + span.text.length;
    return { step: seen.step, steps: steps[steps.length - 1]![0], text, spans, of: seen.of, characters, lacks: seen.lacks };
  }

  /** In which of the requests that are in the report a text was, by the event that it came from. */
  private when(text: string): unknown {
    type Origin = { text: string; fact: { seq: number; kind: string } | null; turn: number };
    const pool = this.data.pool as unknown as Origin[];
    const places = new Map<number, { fact: Origin['fact']; turn: number; stays: { entered: unknown; left: unknown; first: number; last: number; open: boolean }[] }>();
    for (const { step, spans } of this.data.seen) {
      const here = new Set<number>();
      for (const [first, length] of spans) {
        for (let id = first; id < first + length; id++) {
          const { text: content, fact, turn } = pool[id]!;
          if (!fact || !content.includes(text)) continue;
          here.add(fact.seq);
          const place = places.get(fact.seq) ?? { fact, turn, stays: [] };
          places.set(fact.seq, place);
          const stay = place.stays[place.stays.length - 1];
          if (stay?.open) stay.last = step.number;
          else place.stays.push({ entered: place.stays.length ? { seq: step.seq, kind: 'request' } : fact, left: null, first: step.number, last: step.number, open: true });
        }
      }
      for (const [seq, place] of places) {
        const stay = place.stays[place.stays.length - 1];
        if (!here.has(seq) && stay?.open) Object.assign(stay, { open: false, left: { seq: step.seq, kind: `before request ${step.number}` } });
      }
    }
    return { sightings: [...places.values()] };
  }

  /** What differs between two Cuts, in the views that are in the report. */
  private diff(from: number, to: number): Difference[] {
    const found: Difference[] = [];
    const compare = (view: string, path: string, before: Json | undefined, after: Json | undefined) => {
      if (JSON.stringify(before ?? null) !== JSON.stringify(after ?? null)) found.push({ view, path, before: before ?? null, after: after ?? null });
    };
    const members = (view: string, before: { [key: string]: Json }, after: { [key: string]: Json }) => {
      for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) compare(view, name, before[name], after[name]);
    };
    const bySeq = (list: Json): { [key: string]: Json } => Object.fromEntries((list as { seq: number }[]).map((item) => [`seq ${item.seq}`, item as Json]));
    const object = (value: Json) => (value ?? {}) as { [key: string]: Json };
    members('history', bySeq(this.view('history', from)), bySeq(this.view('history', to)));
    compare('baseline', 'text', object(this.view('baseline', from)).text, object(this.view('baseline', to)).text);
    for (const view of ['snapshot', 'usage']) members(view, object(this.view(view, from)), object(this.view(view, to)));
    members('epochs', bySeq(this.view('epochs', from)), bySeq(this.view('epochs', to)));
    const requests = (at: number) => bySeq(this.data.requests.filter((row) => row.seq < at) as unknown as Json);
    members('requests', requests(from), requests(to));
    return found;
  }
}

function paged<T>(list: T[], from: number, limit: number, name: string) {
  return { [name]: list.slice(from, from + limit), next: from + limit < list.length ? from + limit : null };
}
