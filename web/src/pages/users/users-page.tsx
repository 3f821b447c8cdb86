import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { nextPageOf } from '../../data/next-page.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { usersQuery } from './queries.ts'
import { allColumns, fewColumns } from './user-columns.tsx'
import { UserForm } from './user-form.tsx'
import { UserPanel } from './user-panel.tsx'

const title = 'Users'

/** People and service accounts: who may use the service, and as what. */
export function UsersPage() {
  return (
    <AdminOnly title={title} right="Only administrators of the whole service see and manage users" isForWholeService>
      <Users />
    </AdminOnly>
  )
}

function Users() {
  const [{ q, open, create }, setAddress] = useAddress<'q' | 'open' | 'create'>()
  const close = () => setAddress({ open: undefined, create: undefined })
  const openUser = ({ id }: { readonly id: string }) => setAddress({ open: id, create: undefined }, { isStep: true })
  const panel =
    create === '1' ? (
      <SidePanel title="Create user" onClose={close}>
        <UserForm onCancel={close} onDone={openUser} />
      </SidePanel>
    ) : open === undefined ? undefined : (
      <UserPanel key={open} id={open} onClose={close} />
    )
  return (
    <Page
      title={title}
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
          Create user
        </Button>
      }
      toolbar={<SearchFilter label="Name, email or owner" value={q} onChange={value => setAddress({ q: value })} />}
    >
      <WithPanel panel={panel}>
        <List q={q} open={open} hasPanel={panel !== undefined} onOpen={openUser} />
      </WithPanel>
    </Page>
  )
}

interface ListProps {
  readonly q: string | undefined
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (user: { readonly id: string }) => void
}

function List({ q, open, hasPanel, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'q' | 'create'>()
  const list = useInfiniteQuery(usersQuery(q))
  const { data, error, refetch } = list
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the users" retry={() => void refetch()} /> : <Loading />
  }
  const users = data.pages.flatMap(page => page.users)
  if (users.length === 0 && q !== undefined)
    return <NoMatch what="users" onClear={() => setAddress({ q: undefined })} />
  if (users.length === 0) {
    return (
      <Empty
        title="No users yet"
        action={<Button onClick={() => setAddress({ create: '1' })}>Create user</Button>}
        link={<a href="/docs#tag/users">Read about users</a>}
      >
        A user is a person or a service account. Keys of a user stop when you disable it. With single sign-on, people
        become users at their first sign-in.
      </Empty>
    )
  }
  return (
    <DataTable
      label="Users"
      rows={users}
      columns={hasPanel ? fewColumns : allColumns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={onOpen}
      onEnd={nextPageOf(list)}
    />
  )
}
