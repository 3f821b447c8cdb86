import { Button, Group, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Team } from '../../../../src/contract/teams.ts'
import { client } from '../../data/client.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { Members } from './members.tsx'
import { reloadTeams, teamQuery } from './queries.ts'
import { TeamForm } from './team-form.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** One team beside the list. */
export function TeamPanel({ id, onClose }: Props) {
  const [isEditing, setEditing] = useState(false)
  const { data, error, refetch } = useQuery(teamQuery(id))
  const stop = () => setEditing(false)
  return (
    <SidePanel title={data?.name ?? 'Team'} onClose={isEditing ? stop : onClose}>
      {data && isEditing ? (
        <TeamForm team={data} onCancel={stop} onDone={stop} />
      ) : data ? (
        <Details team={data} onEdit={() => setEditing(true)} onDeleted={onClose} />
      ) : error ? (
        <ProblemBlock error={error} what="load the team" retry={() => void refetch()} />
      ) : (
        <Loading />
      )}
    </SidePanel>
  )
}

interface DetailsProps {
  readonly team: Team
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

function Details({ team, onEdit, onDeleted }: DetailsProps) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  return (
    <Stack gap="md">
      <Group gap="sm">
        <Button variant="default" onClick={onEdit}>
          Edit team
        </Button>
        <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
          Delete team
        </Button>
      </Group>
      <Facts
        of={[
          [
            'Models',
            team.models.length === 0 ? 'every model' : <SafeText key="models" text={team.models.join(', ')} />,
          ],
          ['Group', team.group === null ? 'none' : <SafeText key="group" text={team.group} />],
          ['Owner', team.owner_id === team.id ? 'its own id' : <SafeText key="owner" text={team.owner_id} />],
          ['Created', <Time key="created" at={team.created_at} />],
          ['Id', <Id key="id" id={team.id} />],
        ]}
      />
      <Group gap="md">
        <Link to="/console/budgets" search={{ open: `team/${team.id}` }}>
          Budget
        </Link>
        <Link to="/console/audit" search={{ object_id: team.id }}>
          Changes
        </Link>
      </Group>
      <Members teamId={team.id} />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        question={`Delete team ${team.name}?`}
        consequence="Its budget is deleted and its keys are revoked for good. What members created as the team stays with its owner."
        action="Delete team"
        name={team.name}
        run={async () => {
          await client.teams.remove({ params: { team_id: team.id } })
          onDeleted()
          await reloadTeams(queries)
        }}
      />
    </Stack>
  )
}
