import { JsonBlock } from '../../../parts/code.tsx'
import { Time } from '../../../parts/figures.tsx'
import { duration } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { adviceFor } from '../../../session-log/failure-advice.ts'
import type { Row } from '../../../session-log/rows.ts'
import { callTitle } from '../../../session-log/tool-text.ts'
import type { Turn, TurnEnd } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

const outcomes: Readonly<Record<TurnEnd['outcome'], readonly [StateName, string]>> = {
  done: ['done', 'done'],
  failed: ['failed', 'failed'],
  stopped: ['stopped', 'stopped'],
  withdrawn: ['stopped', 'withdrawn'],
}

/** How a run ended: its duration, or its cause with the next step, or what was cut off. */
export function EndRow({ row }: { readonly row: Extract<Row, { kind: 'end' }> }) {
  const { end, turn } = row
  const [state, word] = outcomes[end.outcome]
  return (
    <RowFrame row={row} aside={<Time at={end.at} />}>
      <div className={css.end} data-outcome={end.outcome}>
        <StatePill state={state} word={word} detail={detailOf(end, turn)} />
        {end.outcome === 'failed' && <Cause end={end} />}
        {end.outcome === 'stopped' && <CutOff turn={turn} />}
        {end.result !== undefined && <JsonBlock value={end.result} what="result" />}
      </div>
    </RowFrame>
  )
}

function detailOf({ at, reason, stopDetails, outcome }: TurnEnd, { startedAt }: Turn): string | undefined {
  const ran = startedAt === undefined ? undefined : `after ${duration(Date.parse(at) - Date.parse(startedAt))}`
  const why = outcome === 'stopped' ? (stopDetails?.message ?? stopDetails?.type ?? reason) : undefined
  const detail = [ran, why].filter(Boolean).join(' · ')
  return detail === '' ? undefined : detail
}

function Cause({ end }: { readonly end: TurnEnd }) {
  const type = end.error?.type ?? end.stopReason?.type ?? 'unknown_error'
  const message = end.error?.message ?? end.stopDetails?.message
  return (
    <>
      {message && (
        <p className={css.cause}>
          <SafeText text={message} />
        </p>
      )}
      <p className="soft">
        {adviceFor(type)} <span className="mono">{type}</span>
      </p>
    </>
  )
}

/** What was in progress when the run was stopped. */
function CutOff({ turn }: { readonly turn: Turn }) {
  const last = turn.groups.at(-1)
  const request = last?.state === 'interrupted' ? [`model request ${last.number}`] : []
  const calls = turn.groups.flatMap(({ items }) =>
    items.flatMap(item => (item.kind === 'tool' && item.state === 'stopped' ? [callTitle(item)] : [])),
  )
  const cut = [...request, ...calls]
  if (cut.length === 0) return null
  return (
    <p className="soft">
      Cut off: <SafeText text={cut.join('; ')} />
    </p>
  )
}
