import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ShownApiKey } from '../../../../src/contract/keys.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { userQuery } from '../../parts/user-queries.ts'
import { CreateKey } from './create-key.tsx'
import { allColumns, fewColumns } from './key-columns.tsx'
import { KeyPanel } from './key-panel.tsx'
import { KeySecret } from './key-secret.tsx'
import { keysQuery } from './queries.ts'

const title = 'API keys'

/** Virtual keys: who may call what, for how much, until when. */
export function KeysPage() {
  return (
    <AdminOnly title={title} right="Only administrators see and manage keys">
      <Keys />
    </AdminOnly>
  )
}

function Keys() {
  const [address, setAddress] = useAddress<'q' | 'owner' | 'user' | 'revoked' | 'open' | 'create' | 'edit'>()
  const { q, owner, user, revoked, open, create } = address
  const { data: holder } = useQuery({ ...userQuery(user ?? ''), enabled: user !== undefined })
  // A secret lives here until the person has saved it, and nowhere else.
  const [shown, setShown] = useState<ShownApiKey>()
  const close = () => setAddress({ open: undefined, create: undefined, edit: undefined })
  const openKey = (id: string) => setAddress({ open: id, create: undefined, edit: undefined }, { isStep: true })
  const panel =
    create === '1' ? (
      <CreateKey userId={user} onClose={close} onCreated={setShown} />
    ) : open === undefined ? undefined : (
      <KeyPanel key={open} id={open} onClose={close} onOpen={openKey} onRotated={setShown} />
    )
  return (
    <Page
      title={title}
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
          Create API key
        </Button>
      }
      toolbar={
        <>
          <SearchFilter label="Label, id or last 4" value={q} onChange={value => setAddress({ q: value })} />
          <ChoiceFilter
            label="Revoked keys"
            value={revoked}
            options={[{ value: '1', label: 'with revoked keys' }]}
            onChange={value => setAddress({ revoked: value })}
          />
          <FilterChips
            active={{ owner, user: holder?.name ?? user }}
            onRemove={name => setAddress({ [name]: undefined })}
            onClear={() => setAddress({ owner: undefined, user: undefined })}
          />
        </>
      }
    >
      <WithPanel panel={panel}>
        <List filters={{ q, owner, user, revoked }} open={open} hasPanel={panel !== undefined} onOpen={openKey} />
      </WithPanel>
      {shown && (
        <KeySecret
          shown={shown}
          onClose={() => {
            setShown(undefined)
            openKey(shown.id)
          }}
        />
      )}
    </Page>
  )
}

interface ListProps {
  readonly filters: Parameters<typeof keysQuery>[0]
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (id: string) => void
}

function List({ filters, open, hasPanel, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'q' | 'owner' | 'user' | 'revoked' | 'create'>()
  const { data, error, refetch, fetchNextPage, hasNextPage } = useInfiniteQuery(keysQuery(filters))
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the keys" retry={() => void refetch()} /> : <Loading />
  }
  const keys = data.pages.flatMap(page => page.keys)
  const isFiltered = filters.q !== undefined || filters.owner !== undefined || filters.user !== undefined
  if (keys.length === 0 && isFiltered) {
    return <NoMatch what="keys" onClear={() => setAddress({ q: undefined, owner: undefined, user: undefined })} />
  }
  if (keys.length === 0) {
    return (
      <Empty
        title="No API keys yet"
        action={<Button onClick={() => setAddress({ create: '1' })}>Create API key</Button>}
        link={<a href="/docs#tag/api-keys">Read about keys</a>}
      >
        Give each person, program or team a separate key in place of the master key. A key can have models, a budget,
        rate limits and an end.
      </Empty>
    )
  }
  return (
    <DataTable
      label="API keys"
      rows={keys}
      columns={hasPanel ? fewColumns : allColumns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={({ id }) => onOpen(id)}
      onEnd={hasNextPage ? () => void fetchNextPage() : undefined}
    />
  )
}
