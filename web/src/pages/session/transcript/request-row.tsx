import { Tooltip } from '@mantine/core'
import { Elapsed, Money } from '../../../parts/figures.tsx'
import { count, duration, exactCount } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { eventIdsOf, type Row } from '../../../session-log/rows.ts'
import { inputTokens } from '../../../session-log/statistics.ts'
import type { Group, Usage } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import { useCost } from '../costs-context.ts'
import { useViewer, type ViewerContext } from '../selection.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

const states: Readonly<Partial<Record<Group['state'], readonly [StateName, string]>>> = {
  failed: ['failed', 'failed'],
  interrupted: ['stopped', 'interrupted'],
  lost: ['waiting', 'lost with its process, then repeated'],
}

/** Head of a model request: its number, model, duration, tokens and cost. */
export function RequestRow({ row }: { readonly row: Extract<Row, { kind: 'request' }> }) {
  const { group } = row
  const { eventsOf } = useViewer()
  if (group.kind === 'other') return <RowFrame row={row}>{null}</RowFrame>
  const { number, model, isCompaction, state, trimmedUntil } = group
  const shown = states[state]
  return (
    <RowFrame
      row={row}
      forkPoint={() => ({ eventId: lastEventOf(group, eventsOf) })}
      label={<span className={css.model}>{isCompaction ? 'COMPACT' : `MODEL ${number}`}</span>}
      aside={<Figures group={group} />}
    >
      <div className={css.requestLine}>
        {state === 'open' && <StatePill state="running" word={isCompaction ? 'summarising' : 'thinking'} />}
        {shown && <StatePill state={shown[0]} word={shown[1]} />}
        {model !== undefined && (
          <span className="soft clip">
            <SafeText text={model} />
          </span>
        )}
        {trimmedUntil !== undefined && <span className="soft clip">older tool results are trimmed from here on</span>}
      </div>
    </RowFrame>
  )
}

/** The tool calls of a request and their results belong to it. */
function lastEventOf({ eventIds, items }: Group, eventsOf: ViewerContext['eventsOf']): string {
  const events = eventsOf([...eventIds, ...items.flatMap(eventIdsOf)])
  const last = events.reduce((latest, event) => (event.seq > (latest?.seq ?? 0) ? event : latest), events[0])
  return last?.id ?? ''
}

function Figures({ group }: { readonly group: Group }) {
  const { startedAt, endedAt, usage, isEstimated, key, state } = group
  const cost = useCost(key)
  return (
    <span className={css.figures}>
      {endedAt !== undefined && (
        <span className="numbers">{duration(Date.parse(endedAt) - Date.parse(startedAt))}</span>
      )}
      {state === 'open' && <Elapsed since={startedAt} />}
      {usage && <Tokens usage={usage} isEstimated={isEstimated} />}
      {cost !== undefined && (
        <span className={css.money}>
          <Money usd={cost} />
        </span>
      )}
    </span>
  )
}

function Tokens({ usage, isEstimated }: { readonly usage: Usage; readonly isEstimated: boolean }) {
  const { input, output, cacheRead, cacheWrite } = usage
  const detail = [
    `${exactCount(input)} input`,
    `${exactCount(cacheRead)} read from the cache`,
    `${exactCount(cacheWrite)} written to the cache`,
    `${exactCount(output)} output tokens`,
  ]
  if (isEstimated) detail.push('estimated')
  return (
    <Tooltip label={detail.join(', ')}>
      <span className="numbers">
        {isEstimated && '≈ '}
        {count(inputTokens(usage))} → {count(output)}
      </span>
    </Tooltip>
  )
}
