import { Elapsed } from '../../../parts/figures.tsx'
import { count, duration, plural } from '../../../parts/format.ts'
import { Markdown } from '../../../parts/markdown.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { noteText } from '../../../session-log/notes.ts'
import { textOf } from '../../../session-log/tool-text.ts'
import type { Item, Turn, TurnEnd } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import css from '../compare.module.css'
import { figuresOf } from './figures.ts'
import { ThinkingLine, ThreadLine, ToolLine } from './item-lines.tsx'

interface Props {
  readonly turn: Turn
  readonly text: string
}

/** A prompt with what the agent did for it, to read only. */
export function TurnCell({ turn, text }: Props) {
  const items = turn.groups.flatMap(group => group.items)
  return (
    <>
      <div className={css.prompt}>
        <SafeText text={text} />
      </div>
      {items.map(item => (
        <ItemLine key={item.key} item={item} />
      ))}
      <Outcome turn={turn} />
    </>
  )
}

function ItemLine({ item }: { readonly item: Item }) {
  switch (item.kind) {
    case 'text':
      return <Markdown text={textOf(item.content)} />
    case 'thinking':
      return <ThinkingLine item={item} />
    case 'tool':
      return <ToolLine call={item} />
    case 'thread':
      return <ThreadLine thread={item} />
    case 'note': {
      const { label, text } = noteText(item)
      return (
        <div className={`${css.line} soft`}>
          <span className="clip">
            <SafeText text={text === '' ? label : `${label}: ${text}`} />
          </span>
        </div>
      )
    }
  }
}

const outcomes: Readonly<Record<TurnEnd['outcome'], readonly [StateName, string]>> = {
  done: ['done', 'done'],
  failed: ['failed', 'failed'],
  stopped: ['stopped', 'stopped'],
  withdrawn: ['stopped', 'withdrawn'],
}

function Outcome({ turn }: { readonly turn: Turn }) {
  const { end, startedAt } = turn
  const { ms, requests, inputTokens, outputTokens, calls } = figuresOf([turn], new Map())
  const [state, word] = end ? outcomes[end.outcome] : (['running', 'running'] as const)
  return (
    <div className={css.facts}>
      <StatePill state={state} word={word} detail={end?.error?.message ?? end?.stopDetails?.message} />
      {ms === undefined ? <Elapsed since={startedAt} /> : <span className="numbers">{duration(ms)}</span>}
      <span className="soft">{plural(requests, 'model request')}</span>
      {inputTokens !== undefined && outputTokens !== undefined && (
        <span className="soft numbers">
          {count(inputTokens)} → {count(outputTokens)} tokens
        </span>
      )}
      <span className="soft">{plural(calls, 'tool call')}</span>
    </div>
  )
}
