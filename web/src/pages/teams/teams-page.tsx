import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Team } from '../../../../src/contract/teams.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { teamsQuery } from './queries.ts'
import { TeamForm } from './team-form.tsx'
import { TeamPanel } from './team-panel.tsx'

const title = 'Teams'

/** Teams: who shares objects, a budget and models. */
export function TeamsPage() {
  return (
    <AdminOnly title={title} right="Only administrators of the whole service see and manage teams" isForWholeService>
      <Teams />
    </AdminOnly>
  )
}

function Teams() {
  const [{ q, open, create }, setAddress] = useAddress<'q' | 'open' | 'create'>()
  const close = () => setAddress({ open: undefined, create: undefined })
  const openTeam = ({ id }: Pick<Team, 'id'>) => setAddress({ open: id, create: undefined }, { isStep: true })
  const panel =
    create === '1' ? (
      <SidePanel title="Create team" onClose={close}>
        <TeamForm onCancel={close} onDone={openTeam} />
      </SidePanel>
    ) : open === undefined ? undefined : (
      <TeamPanel key={open} id={open} onClose={close} />
    )
  return (
    <Page
      title={title}
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
          Create team
        </Button>
      }
      toolbar={<SearchFilter label="Name or owner" value={q} onChange={value => setAddress({ q: value })} />}
    >
      <WithPanel panel={panel}>
        <List q={q} open={open} hasPanel={panel !== undefined} onOpen={openTeam} />
      </WithPanel>
    </Page>
  )
}

const name: Column<Team> = {
  key: 'name',
  title: 'Name',
  width: 'minmax(140px, 1.4fr)',
  cell: team => <SafeText text={team.name} />,
}
const members: Column<Team> = {
  key: 'members',
  title: 'Members',
  width: '88px',
  cell: ({ member_count }) => <span className="numbers">{member_count}</span>,
}
const columns: readonly Column<Team>[] = [
  name,
  members,
  {
    key: 'models',
    title: 'Models',
    width: 'minmax(100px, 1fr)',
    cell: ({ models }) =>
      models.length === 0 ? <span className="soft">every model</span> : <SafeText text={models.join(', ')} />,
    isNarrow: false,
  },
  {
    key: 'group',
    title: 'Group',
    width: 'minmax(100px, 1fr)',
    cell: ({ group }) => (group === null ? <span className="soft">none</span> : <SafeText text={group} />),
    isNarrow: false,
  },
  {
    key: 'created',
    title: 'Created',
    width: '96px',
    cell: ({ created_at }) => <Time at={created_at} />,
    isNarrow: false,
  },
]

interface ListProps {
  readonly q: string | undefined
  readonly open: string | undefined
  readonly hasPanel: boolean
  readonly onOpen: (team: Pick<Team, 'id'>) => void
}

function List({ q, open, hasPanel, onOpen }: ListProps) {
  const [, setAddress] = useAddress<'q' | 'create'>()
  const list = useInfiniteQuery(teamsQuery(q))
  const { data, error, refetch } = list
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the teams" retry={() => void refetch()} /> : <Loading />
  }
  const teams = data.pages.flatMap(page => page.teams)
  if (teams.length === 0 && q !== undefined)
    return <NoMatch what="teams" onClear={() => setAddress({ q: undefined })} />
  if (teams.length === 0) {
    return (
      <Empty
        title="No teams yet"
        action={<Button onClick={() => setAddress({ create: '1' })}>Create team</Button>}
        link={<a href="/docs#tag/teams">Read about teams</a>}
      >
        Members of a team share agents and sessions, a budget, and a list of models.
      </Empty>
    )
  }
  return (
    <DataTable
      label="Teams"
      rows={teams}
      columns={hasPanel ? [name, members] : columns}
      keyOf={({ id }) => id}
      selected={open}
      onOpen={onOpen}
      onEnd={nextPageOf(list)}
    />
  )
}
