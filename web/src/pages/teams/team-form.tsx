import { Button, Group, Stack, TagsInput, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Team } from '../../../../src/contract/teams.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { reloadTeams } from './queries.ts'

interface Props {
  /** Team to change; absent for a new one. */
  readonly team?: Team
  readonly onCancel: () => void
  readonly onDone: (team: Team) => void
}

/** Name, models and group of a team. */
export function TeamForm({ team, onCancel, onDone }: Props) {
  const queries = useQueryClient()
  const [name, setName] = useState(team?.name ?? '')
  const [models, setModels] = useState<string[]>([...(team?.models ?? [])])
  const [group, setGroup] = useState(team?.group ?? '')
  const submit = useSubmit(async () => {
    const body = { name: name.trim(), models, group: group.trim() === '' ? null : group.trim() }
    const done = team
      ? await client.teams.update({ params: { team_id: team.id }, body })
      : await client.teams.create({ body })
    await reloadTeams(queries)
    onDone(done)
  })
  const error = formErrorOf(submit.error, ['name', 'models', 'group'])
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        <TextInput
          label="Name"
          maxLength={200}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          error={error.at('name')}
          required
          data-autofocus
        />
        <TagsInput
          label="Models"
          description="Names or provider/*, which the keys of members may call. Empty: every model"
          value={models}
          onChange={setModels}
          error={error.at('models')}
        />
        <TextInput
          label="Group"
          description="Group of the identity provider whose members join at their next sign-in"
          maxLength={200}
          value={group}
          onChange={({ currentTarget }) => setGroup(currentTarget.value)}
          error={error.at('group')}
        />
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={name.trim() === ''}>
            {team ? 'Save team' : 'Create team'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
