import type { UsageCall } from '../../../../src/contract/usage.ts'
import type { Names } from '../../data/names.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Money, Time } from '../../parts/figures.tsx'
import { count, duration } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import type { StateName } from '../../theme.ts'

const states: Readonly<Record<string, StateName>> = {
  completed: 'done',
  failed: 'failed',
  aborted: 'stopped',
  lost: 'failed',
}

/** Outcome and status of a call. */
export function CallState({ call: { outcome, status, cached } }: { readonly call: UsageCall }) {
  const detail = [status, cached && 'from cache'].filter(Boolean).join(' · ')
  return <StatePill state={states[outcome] ?? 'done'} word={outcome} detail={detail === '' ? undefined : detail} />
}

/** All tokens that went in, from the cache or not. */
export const inputTokens = (call: UsageCall): number =>
  call.input_tokens + call.cache_read_tokens + call.cache_write_5m_tokens + call.cache_write_1h_tokens

const ms = (value: number | null) =>
  value === null ? <span className="soft">none</span> : <span className="numbers">{duration(value)}</span>

/** Label of the key, or who else made the call. */
export const callerOf = ({ key_id: id, principal }: UsageCall, names: Names): string =>
  id === null ? principal : (names.keys.get(id) ?? id)

export const columnsWith = (names: Names): readonly Column<UsageCall>[] => [
  { key: 'time', title: 'Time', width: '64px', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: 'state',
    title: 'Outcome',
    width: 'minmax(130px, 1fr)',
    isMain: true,
    cell: call => <CallState call={call} />,
  },
  { key: 'model', title: 'Model', width: 'minmax(120px, 1.4fr)', cell: ({ model }) => <SafeText text={model} /> },
  {
    key: 'key',
    title: 'Key',
    width: 'minmax(90px, 1fr)',
    isNarrow: false,
    cell: call => <SafeText text={callerOf(call, names)} />,
  },
  {
    key: 'deployment',
    title: 'Deployment',
    width: 'minmax(110px, 1.2fr)',
    isNarrow: false,
    cell: ({ deployment }) => (deployment === '' ? <span className="soft">none</span> : <SafeText text={deployment} />),
  },
  {
    key: 'attempts',
    title: 'Attempts',
    width: '64px',
    align: 'end',
    isNarrow: false,
    cell: ({ attempts }) => <span className={attempts > 1 ? 'numbers' : 'numbers soft'}>{attempts}</span>,
  },
  {
    key: 'first',
    title: 'First token',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ first_content_ms }) => ms(first_content_ms),
  },
  { key: 'total', title: 'Total', width: '72px', align: 'end', isNarrow: false, cell: ({ total_ms }) => ms(total_ms) },
  {
    key: 'tokens',
    title: 'Tokens in, out',
    width: '110px',
    align: 'end',
    isNarrow: false,
    cell: call => (
      <span className="numbers">
        {count(inputTokens(call))} → {count(call.output_tokens)}
      </span>
    ),
  },
  { key: 'cost', title: 'Cost', width: '80px', align: 'end', cell: ({ cost_usd }) => <Money usd={cost_usd} /> },
]

const besidePanel: ReadonlySet<string> = new Set(['time', 'state', 'model', 'cost'])

/** The columns that fit beside an open panel. */
export const fewColumnsWith = (names: Names): readonly Column<UsageCall>[] =>
  columnsWith(names).filter(({ key }) => besidePanel.has(key))
