import type { VaultEntry } from '../../../../src/contract/vault.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { usesWords } from './uses.tsx'

/** Words for who can use an entry. */
export const scopeWords = { global: 'all agents', owner: 'own agents' } as const

const name: Column<VaultEntry> = {
  key: 'name',
  title: 'Name',
  width: 'minmax(160px, 2fr)',
  cell: ({ key }) => <span className="mono">{key}</span>,
}
const scope: Column<VaultEntry> = {
  key: 'scope',
  title: 'Available to',
  width: '112px',
  cell: entry => scopeWords[entry.scope],
}
const changed: Column<VaultEntry> = {
  key: 'changed',
  title: 'Changed',
  width: '96px',
  cell: ({ updated_at }) => <Time at={updated_at} />,
  isNarrow: false,
}

const used: Column<VaultEntry> = {
  key: 'used',
  title: 'Last used',
  width: '96px',
  cell: ({ last_used_at }) => <Time at={last_used_at} />,
  isNarrow: false,
}
const uses: Column<VaultEntry> = {
  key: 'uses',
  title: 'Used by',
  width: 'minmax(140px, 2fr)',
  cell: entry => (
    <span className="soft">
      <SafeText text={usesWords(entry)} />
    </span>
  ),
  isNarrow: false,
}

export const fewColumns: readonly Column<VaultEntry>[] = [name, scope, used]
export const allColumns: readonly Column<VaultEntry>[] = [name, scope, uses, used, changed]
