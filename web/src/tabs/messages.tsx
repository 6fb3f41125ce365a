// Messages: what the next request would carry, or everything the user was shown.
import { CLIP, of } from '../api';
import { brief, clock, count, dollars, oneLine, visible } from '../format';
import type { Json, Message, Usage } from '../types';
import { Empty, LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { PAUSE, type TabProps } from '.';

const SHOWN = 400;

export function Messages({ api, id, at, go, view }: TabProps & { view: 'history' | 'transcript' }) {
  const loaded = useLoad(`${view} ${id}@${at}`, (signal) => api.get<Message[] | { messages?: Message[]; items?: Message[] }>(of(id, `/views/${view}`), { at, last: SHOWN + 1, clip: CLIP }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(data) => {
        const all = Array.isArray(data) ? data : data.messages ?? data.items ?? [];
        const messages = all.slice(-SHOWN);
        if (all.length === 0) return <Empty>No messages up to here.</Empty>;
        return (
          <>
            {all.length > SHOWN && <p class="dim">The newest {SHOWN} messages.</p>}
            <ol class="spans">{messages.map((message) => <MessageRow key={`${message.type}${message.seq}`} message={message} go={go} />)}</ol>
          </>
        );
      }}
    </Panel>
  );
}

const COLOUR: Record<string, string> = { user: 'user', assistant: 'model', system: 'context', compaction: 'compaction', synthetic: 'runtime', shell: 'user' };

function MessageRow({ message, go }: { message: Message; go: (seq: number) => void }) {
  const usage = message.usage as Usage | null | undefined;
  const parts = (message.content as { [key: string]: Json }[] | undefined) ?? [];
  return (
    <li class={`span c-${COLOUR[message.type] ?? 'runtime'}`}>
      <div class="gutter">
        <b>{visible(message.type)}</b>
        <span class="dim">{clock(message.at)}</span>
        {usage && usage.input + usage.output > 0 && <span class="dim">{brief(usage.input)} in, {brief(usage.output)} out</span>}
        {typeof message.cost === 'number' && message.cost > 0 && <span class="dim">{dollars(message.cost)}</span>}
      </div>
      <div class="body">
        {typeof message.text === 'string' && <LongText text={message.text} />}
        {typeof message.summary === 'string' && <LongText text={message.summary} />}
        {parts.map((part, at) => <Part key={at} part={part} />)}
        {message.error != null && <p class="problem">{visible(fault(message.error))}</p>}
        {typeof message.text !== 'string' && typeof message.summary !== 'string' && parts.length === 0 && message.error == null && <LongText text={pretty(message)} />}
      </div>
      <button type="button" class="quiet seq" onClick={() => go(message.seq + 1)} title={`Go to event ${message.seq}`}>{count(message.seq)}</button>
    </li>
  );
}

/** What an error says; as JSON where it has no message. */
function fault(error: Json): string {
  if (typeof error === 'string') return error;
  const said = error && typeof error === 'object' && !Array.isArray(error) ? error.message : null;
  return typeof said === 'string' && said ? said : JSON.stringify(error);
}

function Part({ part }: { part: { [key: string]: Json } }) {
  if (part.type === 'tool') {
    const bad = part.error != null || (part.status !== 'completed' && part.status !== 'running');
    return (
      <div class={`call-part${bad ? ' bad' : ''}`}>
        <p><b><bdi>{oneLine(String(part.name), 60)}</bdi></b> <span class="dim">{visible(String(part.status))}</span></p>
        <LongText text={typeof part.input === 'string' ? part.input : pretty(part.input)} className="c-tool" />
        {typeof part.output === 'string' && part.output !== '' && <LongText text={part.output} className="c-result" />}
        {part.error != null && <LongText text={typeof part.error === 'string' ? part.error : pretty(part.error)} className="problem" />}
      </div>
    );
  }
  const text = typeof part.text === 'string' ? part.text : pretty(part);
  return <LongText text={text} className={part.type === 'reasoning' ? 'c-reasoning' : ''} />;
}
