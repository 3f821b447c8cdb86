import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../data/client.ts'
import { copyQuery } from '../data/skills.ts'
import { useSubmit } from '../data/submit.ts'
import { LineDiff } from './line-diff.tsx'
import { Loading, ProblemBlock, ProblemLine } from './page-state.tsx'

interface Props {
  readonly skillId: string
  readonly agentId: string
  /** Name of the skill, or of the agent whose copy it is. */
  readonly title: string
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

const results: Readonly<Record<string, string>> = {
  too_long: 'The prompt would become longer than 1,000,000 characters. Shorten the skill or the prompt.',
  edited: 'Somebody has edited the copy in the meantime. Look at the difference again.',
  current: 'The copy is as the library already.',
}

/** Shows what an update changes in an agent's copy of a skill, then writes it as a new version of the agent. */
export function UpdateCopy({ skillId, agentId, title, onClose, onDone }: Props) {
  const copy = useQuery(copyQuery(skillId, agentId))
  const isEdited = copy.data?.state === 'edited'
  const { send, isRunning, error } = useSubmit(async () => {
    const { data } = await client.skills.upgrade({
      params: { skill_id: skillId },
      body: { agent_ids: [agentId], include_edited: isEdited },
    })
    const state = data[0]?.state
    await onDone()
    if (state !== 'upgraded') throw new Error(results[state ?? ''] ?? 'The agent does not have this skill any more.')
    onClose()
  })
  return (
    <Modal opened onClose={onClose} title={`Update the copy: ${title}`} size="xl">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          {copy.error ? (
            <ProblemBlock error={copy.error} what="compare the copy" retry={() => void copy.refetch()} />
          ) : copy.data ? (
            <>
              <Text size="sm">
                {isEdited
                  ? 'This copy was edited in the prompt. The update replaces those edits by the text of the library.'
                  : 'The update replaces the copy by the text of the library, as a new version of the agent.'}
              </Text>
              <LineDiff lines={copy.data.lines} label="Changes of the copy" />
            </>
          ) : (
            <Loading lines={3} />
          )}
          <ProblemLine error={error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color={isEdited ? 'red' : 'accent'} loading={isRunning} disabled={!copy.data}>
              {isEdited ? 'Replace edits' : 'Update copy'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
