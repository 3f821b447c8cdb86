import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { TeamMember } from '../../../../src/contract/teams.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { UserSelect } from '../../parts/user-select.tsx'
import { membersQuery, reloadTeams } from './queries.ts'

/** Members of a team, and a field that adds one. */
export function Members({ teamId }: { readonly teamId: string }) {
  const queries = useQueryClient()
  const [leaving, setLeaving] = useState<TeamMember>()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    membersQuery(teamId),
  )
  const members = data?.pages.flatMap(page => page.members) ?? []
  return (
    <Stack gap="sm">
      <Title order={3}>Members</Title>
      {error && !data && <ProblemBlock error={error} what="load the members" retry={() => void refetch()} />}
      {data && members.length === 0 && (
        <Text size="sm" className="soft">
          No members yet
        </Text>
      )}
      {members.map(member => (
        <Group key={member.user_id} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="sm" className="clip" style={{ flex: 1 }}>
            <SafeText text={member.name} />
          </Text>
          <Text size="sm" className="soft" style={{ flexShrink: 0 }}>
            {member.role}
            {member.source === 'claim' && ', by group'}
            {member.is_disabled && ', disabled'}
          </Text>
          <Button
            variant="default"
            size="xs"
            style={{ flexShrink: 0 }}
            aria-label={`Remove ${member.name}`}
            onClick={() => setLeaving(member)}
          >
            Remove
          </Button>
        </Group>
      ))}
      {hasNextPage && (
        <Button variant="subtle" size="xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more members
        </Button>
      )}
      <AddMember teamId={teamId} />
      <Confirm
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        question={`Remove ${leaving?.name} from the team?`}
        consequence="Its keys of the team stop within 5 seconds and work again when the user returns."
        action="Remove member"
        run={async () => {
          if (leaving) await client.teams.removeMember({ params: { team_id: teamId, user_id: leaving.user_id } })
          await reloadTeams(queries)
        }}
      />
    </Stack>
  )
}

function AddMember({ teamId }: { readonly teamId: string }) {
  const queries = useQueryClient()
  const [userId, setUserId] = useState<string | null>(null)
  const submit = useSubmit(async () => {
    if (userId === null) return
    await client.teams.addMember({ params: { team_id: teamId, user_id: userId } })
    setUserId(null)
    await reloadTeams(queries)
  })
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Group align="flex-end" gap="sm" wrap="nowrap">
        <div style={{ flex: 1 }}>
          <UserSelect label="Add a user" value={userId} onChange={setUserId} />
        </div>
        <Button type="submit" variant="default" loading={submit.isRunning} disabled={userId === null}>
          Add
        </Button>
      </Group>
      <ProblemLine error={submit.error} />
    </form>
  )
}
