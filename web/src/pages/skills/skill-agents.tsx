import { Button, Group, Stack, Title } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { CarryingAgent, Skill } from '../../../../src/contract/skills.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { AgentSelect } from '../../parts/agent-select.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyState } from '../../parts/copy-state.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { UpdateCopy } from '../../parts/update-copy.tsx'
import { carriersQuery } from './queries.ts'
import css from './skills.module.css'

interface Props {
  readonly skill: Skill
  readonly onChanged: () => Promise<void>
}

/** The agents that have a skill, and the state of each copy. */
export function SkillAgents({ skill, onChanged }: Props) {
  const queries = useQueryClient()
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(carriersQuery(skill.id))
  const [isUpdating, setUpdating] = useState(false)
  const agents = data?.pages.flatMap(page => page.data) ?? []
  const outdated = agents.filter(({ state }) => state === 'outdated').length
  const edited = agents.filter(({ state }) => state === 'edited').length
  const changed = async () => {
    await queries.invalidateQueries({ queryKey: agentsKey })
    await onChanged()
  }
  const attach = useMutation({
    mutationFn: (id: string) => client.skills.attach({ params: { agent_id: id }, body: { skill_id: skill.id } }),
    onSuccess: changed,
  })
  if (error) return <ProblemBlock error={error} what="load the agents of the skill" retry={() => void refetch()} />
  if (!data) return <Loading lines={3} />
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={3}>Agents</Title>
        {outdated > 1 && (
          <MayChange>
            <Button variant="default" onClick={() => setUpdating(true)}>
              Update {outdated} outdated copies…
            </Button>
          </MayChange>
        )}
      </Group>
      {agents.length === 0 && <span className="soft">No agent has this skill.</span>}
      <div>
        {agents.map(agent => (
          <AgentRow key={agent.agent_id} skill={skill} agent={agent} onChanged={changed} />
        ))}
      </div>
      {hasNextPage && (
        <Button variant="default" onClick={() => void fetchNextPage()}>
          Show more agents
        </Button>
      )}
      <MayChange>
        <AgentSelect
          key={agents.length}
          label="Attach to an agent"
          description="Appends a copy to its prompt, as a new version of the agent"
          value={undefined}
          onChange={id => attach.mutate(id)}
          without={agents.map(agent => agent.agent_id)}
        />
      </MayChange>
      <ProblemLine error={attach.error} />
      <Confirm
        isOpen={isUpdating}
        onClose={() => setUpdating(false)}
        question={`Update ${outdated} outdated copies?`}
        consequence={`Each of these agents gets a new version with the text of the library.${edited === 0 ? '' : ` Copies that were edited in the prompt (${edited}) stay as they are.`} Running sessions keep their version.`}
        action="Update copies"
        run={async () => {
          await client.skills.upgrade({ params: { skill_id: skill.id }, body: {} })
          await changed()
        }}
      />
    </Stack>
  )
}

interface RowProps {
  readonly skill: Skill
  readonly agent: CarryingAgent
  readonly onChanged: () => Promise<void>
}

function AgentRow({ skill, agent: { agent_id: id, name, state }, onChanged }: RowProps) {
  const [dialog, setDialog] = useState<'update' | 'detach'>()
  const close = () => setDialog(undefined)
  return (
    <div className={css.row}>
      <span className={css.named}>
        <Link to="/console/agents/$agentId" params={{ agentId: id }}>
          <SafeText text={name} />
        </Link>
        <CopyState state={state} />
      </span>
      <MayChange>
        <span className={css.actions}>
          {(state === 'outdated' || state === 'edited') && (
            <Button variant="default" size="compact-xs" onClick={() => setDialog('update')}>
              Update copy…
            </Button>
          )}
          <Button variant="subtle" color="red" size="compact-xs" onClick={() => setDialog('detach')}>
            Detach…
          </Button>
        </span>
      </MayChange>
      {dialog === 'update' && (
        <UpdateCopy skillId={skill.id} agentId={id} title={name} onClose={close} onDone={onChanged} />
      )}
      <Confirm
        isOpen={dialog === 'detach'}
        onClose={close}
        question={`Detach skill ${skill.name} from ${name}?`}
        consequence={
          state === 'edited'
            ? 'Its block leaves the prompt, with the edits that were made there.'
            : 'Its block leaves the prompt, which is then as before. Running sessions keep their version.'
        }
        action="Detach skill"
        run={async () => {
          await client.skills.detach({ params: { agent_id: id }, query: { skill_id: skill.id } })
          await onChanged()
        }}
      />
    </div>
  )
}
