// A question of a model to the user: options to choose from, or an answer in words.
import { useState } from 'preact/hooks';
import { oneLine, short } from './format';
import { linkTo } from './route';
import { LongText } from './ui';

export interface Wondered { id: string; session: string; call: string; question: string; options: string[]; multiple: boolean; elsewhere: boolean }

export function UserQuestion({ asked, reply }: { asked: Wondered; reply: (text: string | null) => void }) {
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<string[]>([]);
  const own = words.trim();
  const answer = [...asked.options.filter((option) => chosen.includes(option)), ...(own ? [own] : [])].join(', ');
  return (
    <form class="question wondered" onSubmit={(event) => { event.preventDefault(); if (answer) reply(answer); }}>
      <div class="what">
        <b>question</b> <a href={linkTo(asked.session)} title="Open the session">{short(asked.session)}</a>
        {asked.elsewhere && <span class="dim"> asked in a terminal, too: the first answer counts</span>}
        <LongText text={asked.question} />
      </div>
      {asked.options.length > 0 && (
        <div class="options" role="group" aria-label="Answers to choose from">
          {asked.options.map((option, at) => asked.multiple ? (
            <label key={at}><input type="checkbox" checked={chosen.includes(option)} onChange={(event) => setChosen(event.currentTarget.checked ? [...chosen, option] : chosen.filter((one) => one !== option))} /> <bdi>{oneLine(option, 400)}</bdi></label>
          ) : (
            <button type="button" key={at} class="allow" onClick={() => reply(option)}><bdi>{oneLine(option, 400)}</bdi></button>
          ))}
        </div>
      )}
      <input class="words" value={words} aria-label="Answer" placeholder={asked.options.length ? 'another answer' : 'answer'} onInput={(event) => setWords(event.currentTarget.value)} />
      <button type="submit" disabled={!answer}>Answer</button>
      <button type="button" onClick={() => reply(null)} title="The model is told that nobody can be asked, and decides">Leave it to the model</button>
    </form>
  );
}
