import type { VaultEntry } from '../../../../src/contract/vault.ts'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'

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

export const fewColumns: readonly Column<VaultEntry>[] = [name, scope, changed]
export const allColumns: readonly Column<VaultEntry>[] = [name, scope, changed]
