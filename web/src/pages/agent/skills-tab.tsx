import { Button, Select, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { CarriedSkill } from '../../../../src/contract/skills.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { skillChoicesQuery, skillsKey } from '../../data/skills.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyState } from '../../parts/copy-state.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { UpdateCopy } from '../../parts/update-copy.tsx'
import css from './agent.module.css'
import { attachedSkillsQuery } from './queries.ts'
import type { Editing } from './use-draft.ts'

/** The skills in the prompt. Each change is saved at once, as a version. */
export function SkillsTab({ editing }: { readonly editing: Editing }) {
  const { agent, changes } = editing
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(attachedSkillsQuery(agent.id, agent.version))
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: agentsKey })
    await queries.invalidateQueries({ queryKey: skillsKey })
  }
  if (error) return <ProblemBlock error={error} what="load the skills of the agent" retry={() => void refetch()} />
  if (!data) return <Loading />
  // A change of the prompt here would be lost when the draft, which has the prompt before it, is saved.
  const isBlocked = changes.some(({ field }) => field === 'system')
  return (
    <>
      {isBlocked && (
        <div className={css.conflict} role="status">
          Your changes of the prompt are not saved. Save or discard them before you change its skills.
        </div>
      )}
      {data.data.length === 0 && (
        <Text size="sm" c="dimmed" mb="md">
          No skills are attached. A skill is a block of instructions that several agents share.
        </Text>
      )}
      {data.data.map(skill => (
        <SkillRow key={skill.id} agentId={agent.id} skill={skill} isBlocked={isBlocked} onChanged={refresh} />
      ))}
      <MayChange>
        <Attach agentId={agent.id} attached={data.data} isBlocked={isBlocked} onChanged={refresh} />
      </MayChange>
    </>
  )
}

interface RowProps {
  readonly agentId: string
  readonly skill: CarriedSkill
  readonly isBlocked: boolean
  readonly onChanged: () => Promise<void>
}

function SkillRow({ agentId, skill, isBlocked, onChanged }: RowProps) {
  const [dialog, setDialog] = useState<'update' | 'detach'>()
  const { id, name, state } = skill
  const title = name ?? id
  const close = () => setDialog(undefined)
  return (
    <div className={css.row}>
      <span className={css.named}>
        <Link to="/console/skills" search={{ open: id }}>
          <SafeText text={title} />
        </Link>
        <CopyState state={state} />
      </span>
      <MayChange>
        <span className={css.actions}>
          {(state === 'outdated' || state === 'edited') && (
            <Button variant="default" disabled={isBlocked} onClick={() => setDialog('update')}>
              Update copy…
            </Button>
          )}
          <Button variant="subtle" color="red" disabled={isBlocked} onClick={() => setDialog('detach')}>
            Detach…
          </Button>
        </span>
      </MayChange>
      {dialog === 'update' && (
        <UpdateCopy skillId={id} agentId={agentId} title={title} onClose={close} onDone={onChanged} />
      )}
      <Confirm
        isOpen={dialog === 'detach'}
        onClose={close}
        question={`Detach skill ${title}?`}
        consequence={
          state === 'edited' || state === 'not_in_library'
            ? 'Its block leaves the prompt. This copy differs from the library: only earlier versions of the agent keep its text.'
            : 'Its block leaves the prompt, which is then as before. Running sessions keep the version that they started with.'
        }
        action="Detach skill"
        run={async () => {
          await client.skills.detach({ params: { agent_id: agentId }, query: { skill_id: id } })
          await onChanged()
        }}
      />
    </div>
  )
}

interface AttachProps {
  readonly agentId: string
  readonly attached: readonly CarriedSkill[]
  readonly isBlocked: boolean
  readonly onChanged: () => Promise<void>
}

function Attach({ agentId, attached, isBlocked, onChanged }: AttachProps) {
  const { data = [] } = useQuery(skillChoicesQuery)
  const attach = useMutation({
    mutationFn: (id: string) => client.skills.attach({ params: { agent_id: agentId }, body: { skill_id: id } }),
    onSuccess: onChanged,
  })
  const choices = data
    .filter(({ id }) => !attached.some(skill => skill.id === id))
    .map(({ id, name }) => ({ value: id, label: name }))
  return (
    <div className={css.attach}>
      <Select
        label="Attach a skill"
        description="Appends a copy of it to the prompt, as a new version"
        placeholder={choices.length === 0 ? 'The library has no other skill' : 'Choose a skill of the library'}
        data={choices}
        value={null}
        onChange={id => id !== null && attach.mutate(id)}
        disabled={isBlocked || attach.isPending || choices.length === 0}
        searchable
      />
      <ProblemLine error={attach.error} />
      <Link to="/console/skills" search={{ create: '1' }}>
        Create a skill
      </Link>
    </div>
  )
}
