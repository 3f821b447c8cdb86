import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { VaultEntry } from '../../../../src/contract/vault.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { ChangePanel, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { allColumns, fewColumns } from './entry-columns.tsx'
import { EntryForm } from './entry-form.tsx'
import { EntryPanel } from './entry-panel.tsx'
import { idOf, vaultQuery } from './queries.ts'

/** Secrets by name, for agents, webhooks and MCP servers. No page shows a value. */
export function VaultPage() {
  const [{ q, open, create }, setAddress] = useAddress<'q' | 'open' | 'create' | 'edit'>()
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(vaultQuery)
  // A search needs all names: there are few.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  const entries = data?.pages.flatMap(page => page.keys)
  const opened = entries?.find(entry => idOf(entry) === open)
  const close = () => setAddress({ open: undefined, create: undefined, edit: undefined })
  const openEntry = (entry: Pick<VaultEntry, 'scope' | 'key'>) =>
    setAddress({ open: idOf(entry), create: undefined, edit: undefined }, { isStep: true })
  const panel =
    create === '1' ? (
      <ChangePanel title="Store vault entry" right="Viewers cannot store vault entries" onClose={close}>
        <SidePanel title="Store vault entry" onClose={close}>
          <EntryForm onCancel={close} onDone={openEntry} />
        </SidePanel>
      </ChangePanel>
    ) : (
      opened && <EntryPanel key={open} entry={opened} onClose={close} />
    )
  return (
    <Page
      title="Vault"
      actions={
        <MayChange>
          <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
            Store vault entry
          </Button>
        </MayChange>
      }
      toolbar={<SearchFilter label="Name" value={q} onChange={value => setAddress({ q: value })} />}
    >
      <WithPanel panel={panel}>
        {entries ? (
          <List entries={entries} q={q} open={open} hasPanel={Boolean(panel)} onOpen={openEntry} />
        ) : error ? (
          <ProblemBlock error={error} what="load the vault" retry={() => void refetch()} />
        ) : (
          <Loading />
        )}
      </WithPanel>
    </Page>
  )
}

interface ListProps {
  readonly entries: readonly VaultEntry[]
  readonly q: string | undefined
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (entry: VaultEntry) => void
}

function List({ entries, q, open, hasPanel, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'q' | 'create'>()
  const isAdmin = useIsAdmin()
  const shown = q === undefined ? entries : entries.filter(({ key }) => key.toLowerCase().includes(q.toLowerCase()))
  if (entries.length === 0) {
    return (
      <Empty
        title="No vault entries yet"
        action={<Button onClick={() => setAddress({ create: '1' })}>Store vault entry</Button>}
        link={<a href="/docs#tag/vault">Read about the vault</a>}
      >
        The vault stores tokens and passwords encrypted, for {isAdmin ? '' : 'your '}agents, webhooks and MCP servers.
        They are named in settings and never shown again.
      </Empty>
    )
  }
  if (shown.length === 0) return <NoMatch what="vault entries" onClear={() => setAddress({ q: undefined })} />
  return (
    <DataTable
      label="Vault entries"
      rows={shown}
      columns={hasPanel ? fewColumns : allColumns}
      keyOf={idOf}
      selected={open}
      onOpen={onOpen}
    />
  )
}
