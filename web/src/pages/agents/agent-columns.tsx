import { Tooltip } from '@mantine/core'
import type { ListedAgent } from '../../../../src/contract/agents.ts'
import { AgentState } from '../../parts/agent-state.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Money, Time } from '../../parts/figures.tsx'
import { plural } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './agents.module.css'
import type { AgentUse } from './queries.ts'

type Use = ReadonlyMap<string, AgentUse> | undefined

/** Columns of the list. `use` is undefined until it is loaded. */
export const agentColumns = (use: Use): readonly Column<ListedAgent>[] => [
  {
    key: 'name',
    title: 'Agent',
    width: 'minmax(120px, 3fr)',
    cell: ({ name, description }) => (
      <span className={css.name}>
        <b>
          <SafeText text={name} />
        </b>
        {description && (
          <span className="soft">
            <SafeText text={description} />
          </span>
        )}
      </span>
    ),
  },
  { key: 'status', title: 'Status', width: '84px', cell: ({ status }) => <AgentState status={status} /> },
  {
    key: 'model',
    title: 'Model',
    width: 'minmax(64px, 1fr)',
    isNarrow: false,
    cell: ({ model }) => <SafeText text={model} />,
  },
  {
    key: 'runtime',
    title: 'Runtime',
    width: 'minmax(56px, 120px)',
    isNarrow: false,
    cell: ({ harness }) => <SafeText text={harness} />,
  },
  {
    key: 'last',
    title: 'Last run',
    width: 'minmax(116px, 140px)',
    isNarrow: false,
    cell: agent => <LastRun agent={agent} />,
  },
  {
    key: 'cost',
    title: 'Cost, 7 days',
    width: '84px',
    align: 'end',
    isNarrow: false,
    cell: ({ id }) => <Cost use={use} id={id} />,
  },
  {
    key: 'failures',
    title: 'Failed',
    width: '56px',
    align: 'end',
    isNarrow: false,
    cell: ({ id }) => <Failures use={use} id={id} />,
  },
]

const words = { running: 'running', pending: 'queued', idle: 'done', error: 'failed' } as const
const states = { running: 'running', pending: 'waiting', idle: 'done', error: 'failed' } as const

export function LastRun({ agent: { last_session: last } }: { readonly agent: ListedAgent }) {
  if (!last) return <span className="soft">never</span>
  return (
    <span className={css.last}>
      <StatePill state={states[last.status]} word={words[last.status]} />
      <span className="soft">
        <Time at={last.updated_at} />
      </span>
    </span>
  )
}

function Cost({ use, id }: { readonly use: Use; readonly id: string }) {
  if (!use) return <span className="soft">…</span>
  const { cost_usd: usd, requests = 0, unpriced_requests: unpriced = 0 } = use.get(id) ?? {}
  if (requests === 0) return <span className="soft">no calls</span>
  if (unpriced === 0 || usd === null) return <Money usd={usd} />
  return (
    <Tooltip label={`${plural(unpriced, 'call')} without a known price not included`}>
      <span tabIndex={0}>
        ≥ <Money usd={usd} />
      </span>
    </Tooltip>
  )
}

function Failures({ use, id }: { readonly use: Use; readonly id: string }) {
  const { requests = 0, failed_requests: failed = 0 } = use?.get(id) ?? {}
  if (!use || failed === 0) return <span className="soft">{use && requests > 0 ? '0' : ''}</span>
  return (
    <Tooltip label={`${failed} of ${plural(requests, 'model call')} failed in 7 days`}>
      <span className={css.failed} tabIndex={0}>
        {failed}
      </span>
    </Tooltip>
  )
}
