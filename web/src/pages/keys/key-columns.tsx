import type { ApiKey } from '../../../../src/contract/keys.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { useNow } from '../../parts/now.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { listOf } from './key-sentence.ts'
import { keyName, keyStatus } from './key-status.ts'

/** State of a key, current to the second. */
export function KeyState({ apiKey }: { readonly apiKey: ApiKey }) {
  const { state, word } = keyStatus(apiKey, useNow())
  return <StatePill state={state} word={word} />
}

/** First and last characters of a key. */
export const KeyCharacters = ({ apiKey: { prefix, last4 } }: { readonly apiKey: ApiKey }) => (
  <span className="mono">
    {prefix}…{last4}
  </span>
)

const label: Column<ApiKey> = {
  key: 'label',
  title: 'Label',
  width: 'minmax(120px, 1.4fr)',
  cell: key => <SafeText text={keyName(key)} />,
}
const state: Column<ApiKey> = {
  key: 'state',
  title: 'State',
  width: '176px',
  cell: key => <KeyState apiKey={key} />,
}
const budget: Column<ApiKey> = {
  key: 'budget',
  title: 'Budget',
  width: 'minmax(180px, 1fr)',
  cell: key => <BudgetBar budget={key} isRow />,
  isNarrow: false,
}
const used: Column<ApiKey> = {
  key: 'used',
  title: 'Last used',
  width: '84px',
  cell: ({ last_used_at }) => <Time at={last_used_at} />,
  isNarrow: false,
}

/** Columns beside an open panel. */
export const fewColumns: readonly Column<ApiKey>[] = [label, state, budget, used]

export const allColumns: readonly Column<ApiKey>[] = [
  label,
  state,
  {
    key: 'characters',
    title: 'Key',
    width: '132px',
    cell: key => <KeyCharacters apiKey={key} />,
    isNarrow: false,
  },
  {
    key: 'owner',
    title: 'Owner',
    width: 'minmax(72px, 0.6fr)',
    cell: ({ owner_id: owner }) => (owner === null ? <span className="soft">all</span> : <SafeText text={owner} />),
    isNarrow: false,
  },
  {
    key: 'role',
    title: 'Role',
    width: '56px',
    cell: ({ role }) => (role === 'user' ? <span className="soft">user</span> : role),
    isNarrow: false,
  },
  {
    key: 'models',
    title: 'Models',
    width: 'minmax(80px, 0.8fr)',
    cell: ({ models }) =>
      models.length === 0 ? <span className="soft">every model</span> : <SafeText text={listOf(models)} />,
    isNarrow: false,
  },
  budget,
  used,
  {
    key: 'expires',
    title: 'Expires',
    width: '84px',
    cell: ({ expires_at }) => <Time at={expires_at} />,
    isNarrow: false,
  },
]
