// The views of a session at a Cut.
import type { Api } from '../api';
import type { Place } from '../route';
import { CacheTab } from './cache';
import { Changes } from './changes';
import { Compactions } from './compactions';
import { ContextTab } from './context';
import { Events } from './events';
import { Messages } from './messages';
import { RequestTab } from './request';
import { Seen } from './seen';
import { Files } from './files';
import { UsageTab } from './usage';
import { Verify } from './verify';

export interface TabProps {
  api: Api; id: string;
  /** The Cut; null is the end of the session. */
  at: number | null;
  head: number | null;
  mark: number | null;
  other: Place | null;
  before: (seq: number) => Promise<number>;
  go: (seq: number) => void;
}

// While an arrow key is held, only the Cut that it stops at is asked for.
export const PAUSE = 40;

export function TabPanel({ tab, ...props }: TabProps & { tab: string }) {
  switch (tab) {
    case 'seen': return <Seen {...props} />;
    case 'changes': return <Changes {...props} />;
    case 'history': return <Messages {...props} view="history" />;
    case 'transcript': return <Messages {...props} view="transcript" />;
    case 'context': return <ContextTab {...props} />;
    case 'request': return <RequestTab {...props} />;
    case 'usage': return <UsageTab {...props} />;
    case 'cache': return <CacheTab {...props} />;
    case 'compactions': return <Compactions {...props} />;
    case 'events': return <Events {...props} />;
    case 'verify': return <Verify {...props} />;
    default: return <Files {...props} />;
  }
}
