// What the model saw: the newest request at a Cut, span by span, coloured by where each came from.
import { useEffect, useState } from 'preact/hooks';
import { CLIP, of } from '../api';
import { clock, count, oneLine, plural, visible } from '../format';
import type { LogEvent, EventPage, Span, Why } from '../types';
import { LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { PAUSE, type TabProps } from '.';

// Where a span came from decides its colour; the name of the kind is always written too.
const COLOURS: Record<string, string> = {
  'agent-text': 'config', baseline: 'context', system: 'context', blank: 'context', user: 'user', attachment: 'user', shell: 'user', synthetic: 'runtime', compaction: 'compaction',
  text: 'model', reasoning: 'reasoning', call: 'tool', result: 'result', pruned: 'runtime', added: 'runtime', prompt: 'runtime', tool: 'config', options: 'config',
};
const LEGEND: [string, string][] = [['context', 'context'], ['user', 'user'], ['model', 'model'], ['reasoning', 'reasoning'], ['tool', 'call'], ['result', 'result'], ['compaction', 'summary'], ['config', 'configuration'], ['runtime', 'runtime']];

export function from(span: Span): string {
  const sources = Array.isArray(span.sources) ? (span.sources as string[]).join(', ') : span.key ?? span.path ?? '';
  const actor = span.actor.by === 'model' ? span.actor.model : span.actor.by === 'tool' ? span.actor.name : span.actor.by;
  return sources || actor || '';
}

// A request of a long session has thousands of parts: its start, where it is configured, and its end, where the work is.
const FIRST = 60;
const LAST = 140;
const MORE = 400;

/** What is asked at a Cut; at the end of the session without one. */
export const seenAt = (at: number | null) => ({ at, limit: FIRST, last: LAST, clip: CLIP });

export function Seen({ api, id, at, go }: TabProps) {
  const [find, setFind] = useState('');
  const [open, setOpen] = useState<string | null>(null);
  const wanted = find.trim();
  const loaded = useLoad(`${id}@${at} ${wanted}`, (signal) => api.get<Why>(of(id, '/why'), { ...seenAt(at), ...(wanted ? { text: wanted } : {}) }, signal), wanted ? 200 : PAUSE);
  return (
    <Panel loaded={loaded}>
      {(why) => {
        const sums = charactersOf(why);
        const total = [...sums.values()].reduce((sum, part) => sum + part, 0);
        const row = (span: Span) => {
          const key = `${span.part}/${span.piece}`;
          return <SpanRow key={key} span={span} open={open === key} toggle={() => setOpen(open === key ? null : key)} go={go} detail={() => <WhySpan api={api} id={id} at={at} span={span} go={go} />} />;
        };
        const between = why.text === null ? why.of - why.spans.length : 0;
        const start = between > 0 ? FIRST : why.spans.length;
        return (
          <>
            <div class="lead">
              <p>
                Request <b>{why.step.number}</b> of {why.steps}, {why.step.recorded ? 'as it was sent' : 'rebuilt: this agent recorded no requests'} · {clock(why.step.at)} · <bdi>{oneLine(why.step.model)}</bdi> · {count(total)} characters in {plural(why.of, 'part')}{' '}
                <button type="button" class="quiet" onClick={() => go(why.step.seq + 1)}>event {count(why.step.seq)}</button>
              </p>
              <input type="search" aria-label="Find in what the model saw" placeholder="Find" value={find} onInput={(event) => setFind(event.currentTarget.value)} onKeyDown={(event) => (event.key === 'Escape' || event.key === 'Enter') && event.currentTarget.blur()} />
            </div>
            <Share sums={sums} total={total} />
            {wanted && why.text === wanted && why.spans.length === 0 && <Elsewhere api={api} id={id} text={wanted} go={go} />}
            {wanted && why.spans.length >= FIRST + LAST && <p class="dim">The first {FIRST} and the last {LAST} parts with this text.</p>}
            <ol class="spans">
              {why.spans.slice(0, start).map(row)}
              {between > 0 && <Between key={`${id}@${why.step.number}`} api={api} id={id} step={why.step.number} count={between} row={row} />}
              {why.spans.slice(start).map(row)}
            </ol>
          </>
        );
      }}
    </Panel>
  );
}

/** The parts between the first and the last ones, as far as they were asked for. */
function Between({ api, id, step, count: all, row }: { api: TabProps['api']; id: string; step: number; count: number; row: (span: Span) => preact.ComponentChild }) {
  const [spans, setSpans] = useState<Span[]>([]);
  const [problem, setProblem] = useState('');
  const rest = all - spans.length;
  const more = () => {
    api.get<Why>(of(id, '/why'), { step, from: FIRST + spans.length, limit: Math.min(MORE, rest), clip: CLIP }).then((why) => setSpans([...spans, ...why.spans]), (error: Error) => setProblem(error.message));
  };
  return (
    <>
      {spans.map(row)}
      {rest > 0 && <li class="between"><button type="button" class="quiet" onClick={more}>{count(rest)} parts between: show {rest > MORE ? `the next ${MORE}` : 'them'}</button> {problem && <span class="problem">{visible(problem)}</span>}</li>}
    </>
  );
}

/** Characters by colour. */
function charactersOf(why: Why): Map<string, number> {
  const sums = new Map<string, number>();
  const add = (sort: string, length: number) => {
    const colour = COLOURS[sort] ?? 'runtime';
    sums.set(colour, (sums.get(colour) ?? 0) + length);
  };
  if (why.characters) for (const [sort, length] of Object.entries(why.characters)) add(sort, length);
  else for (const span of why.spans) add(span.sort, span.text.length);
  return sums;
}

function Share({ sums, total }: { sums: Map<string, number>; total: number }) {
  const shown = LEGEND.filter(([colour]) => sums.get(colour));
  return (
    <div class="share">
      <div class="bar" aria-hidden="true">{shown.map(([colour]) => <i key={colour} class={`c-${colour}`} style={{ width: `${(sums.get(colour)! / Math.max(1, total)) * 100}%` }} />)}</div>
      <ul>{shown.map(([colour, name]) => <li key={colour}><i class={`c-${colour}`} aria-hidden="true" />{name} {Math.round((sums.get(colour)! / Math.max(1, total)) * 100)}%</li>)}</ul>
    </div>
  );
}

function SpanRow({ span, open, toggle, go, detail }: { span: Span; open: boolean; toggle: () => void; go: (seq: number) => void; detail: () => preact.ComponentChild }) {
  const origin = from(span);
  const title = `${span.sort} from ${origin}${span.fact ? `, event ${span.fact.seq} (${span.fact.kind}), turn ${span.turn}` : ''}; in every request since ${span.since}`;
  return (
    <li class={`span c-${COLOURS[span.sort] ?? 'runtime'}`}>
      <button type="button" class="gutter" aria-expanded={open} onClick={toggle} title={visible(title)}>
        <span><b>{span.part}</b> {span.sort}</span>
        <span class="dim"><bdi>{oneLine(origin, 48)}</bdi></span>
      </button>
      <div class="body">
        {span.sort === 'blank' ? <span class="dim">blank line</span> : <LongText text={span.text} />}
        {open && detail()}
      </div>
      {span.fact ? <button type="button" class="quiet seq" title={`Go to event ${span.fact.seq}`} onClick={() => go(span.fact!.seq + 1)}>{count(span.fact.seq)}</button> : <span class="seq dim">–</span>}
    </li>
  );
}

interface Place { seq: number; kind: string }
type LeftBy = string | { [cause: string]: string };
interface Stay { entered: Place; left: (Place & { by?: LeftBy }) | null; first: number | null; last: number | null }
interface Sighting { fact: Place; turn: number; stays: Stay[] }
interface When { sightings: Sighting[]; missed?: (Place & { reason: string })[]; lacks?: string[] }

/** Why the model did not see a text that an event has (`annals when`). */
const REASONS: Record<string, string> = {
  waits: 'the input is still waiting', withdrawn: 'the input was withdrawn before it was sent', 'not-inherited': 'it was waiting when the session was forked', truncated: 'the shortened output that the model read does not contain it',
  structured: 'only in the structured value, which the model does not read', replaced: 'shown while the tool ran; its result does not contain it', 'not-sent': 'no request contained it',
};
/** What an agent does not record of its requests. */
const LACKS: Record<string, string> = { request: 'the request itself', 'agent-text': 'the system text of the agent', baseline: 'the system prompt', tools: 'the tools' };
const REASON = 'no request of this report contained it';

/** A text that the request does not contain: where it is instead. */
function Elsewhere({ api, id, text, go }: { api: TabProps['api']; id: string; text: string; go: (seq: number) => void }) {
  const loaded = useLoad(`${id} ${text}`, (signal) => api.get<When>(of(id, '/when'), { text }, signal));
  return (
    <Panel loaded={loaded}>
      {({ sightings, missed = [], lacks = [] }) => {
        const seen = sightings.filter((one) => one.stays.length > 0);
        const nowhere = missed.length + sightings.length === 0;
        const never = lacks.length > 0 ? 'It is in nothing that was recorded.' : nowhere ? 'No event of the session does: the model never saw it.' : 'The model never saw it:';
        return (
          <>
            <p class="lead">This request does not contain this text. {seen.length === 0 && <b class="problem">{never}</b>}</p>
            {lacks.length > 0 && <p class="dim">Not recorded by the agent: {lacks.map((lack) => oneLine(LACKS[lack] ?? lack)).join(', ')}.</p>}
            <ul class="plain">
              {sightings.slice(0, 20).map((one) => <li key={one.fact.seq}><code>{one.fact.kind}</code>, turn {one.turn}: <Stays sighting={one} go={go} /></li>)}
              {missed.slice(0, 20).map((one) => <li key={`m${one.seq}`}><code>{one.kind}</code>, event <Jump seq={one.seq} go={go} />: {REASONS[one.reason] ?? oneLine(one.reason)}</li>)}
            </ul>
          </>
        );
      }}
    </Panel>
  );
}

const Jump = ({ seq, go }: { seq: number; go: (seq: number) => void }) => <button type="button" class="quiet" onClick={() => go(seq + 1)}>{count(seq)}</button>;
const cause = (by: LeftBy): string => (typeof by === 'string' ? by : Object.entries(by).map(([name, of]) => `${name}: ${of}`).join()).replace(/-/g, ' ');

/** When a text entered and left what the model saw. */
function Stays({ sighting, go }: { sighting: Sighting; go: (seq: number) => void }) {
  if (sighting.stays.length === 0) return <>in event <Jump seq={sighting.fact.seq} go={go} />, {REASON}</>;
  return (
    <>
      {sighting.stays.map((stay) => (
        <span key={stay.entered.seq}>
          entered at <Jump seq={stay.entered.seq} go={go} />{stay.left ? <>, left at <Jump seq={stay.left.seq} go={go} /> ({cause(stay.left.by ?? stay.left.kind)})</> : ', still there'}{stay.first !== null && <> · {stay.first === stay.last ? `request ${stay.first}` : `requests ${stay.first}–${stay.last}`}</>}{' '}
        </span>
      ))}
    </>
  );
}

/** Why a span is there: its event, and when the text entered and left what the model saw. */
function WhySpan({ api, id, span, go }: { api: TabProps['api']; id: string; at: number | null; span: Span; go: (seq: number) => void }) {
  const line = span.text.split('\n').find((part) => part.trim().length > 2)?.slice(0, 200) ?? '';
  const [event, setEvent] = useState<LogEvent | null>(null);
  useEffect(() => {
    if (span.fact) api.get<EventPage>(of(id, '/events'), { from: span.fact.seq, limit: 1, clip: CLIP }).then((page) => setEvent(page.events[0] ?? null), () => {});
  }, [id, span.fact?.seq]);
  const when = useLoad(line ? `${id} ${line}` : null, (signal) => api.get<When>(of(id, '/when'), { text: line }, signal));
  return (
    <div class="why">
      <dl class="facts">
        <div><dt>by</dt><dd>{visible([span.actor.by, span.actor.agent, span.actor.model, span.actor.name].filter(Boolean).join(' · '))}</dd></div>
        {span.fact && <div><dt>event</dt><dd>{span.fact.seq} · {span.fact.kind} · {clock(span.fact.at)} · turn {span.turn}</dd></div>}
        <div><dt>sent since</dt><dd>request {span.since}</dd></div>
        {when.data && when.data.sightings.slice(0, 5).map((sighting) => (
          <div key={sighting.fact.seq}><dt>first line</dt><dd><Stays sighting={sighting} go={go} /></dd></div>
        ))}
      </dl>
      {event && <details><summary>The event</summary><LongText text={pretty(event)} /></details>}
    </div>
  );
}
