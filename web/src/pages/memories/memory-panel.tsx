import { Button, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Memory, MemoryChange } from '../../../../src/contract/memories.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { showProblem } from '../../parts/notices.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import css from './memories.module.css'
import { MemoryForm } from './memory-form.tsx'
import { Tags } from './memory-list.tsx'
import { memoriesKey, memoryPreviewQuery, memoryQuery } from './queries.ts'

interface Props {
  readonly agentId: string
  readonly id: string
  readonly onClose: () => void
}

/** A memory beside the list. */
export function MemoryPanel({ agentId, id, onClose }: Props) {
  const queries = useQueryClient()
  const [address, setAddress] = useAddress<'edit'>()
  const [isDeleting, setDeleting] = useState(false)
  const { data: memory, error, refetch } = useQuery(memoryQuery(agentId, id))
  const params = { agent_id: agentId, memory_id: id }
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: memoriesKey })
    void queries.invalidateQueries({ queryKey: agentsKey })
  }
  const change = async (body: MemoryChange) => {
    await client.memories.update({ params, body })
    await refresh()
  }
  const isEditing = useMayChange() && address.edit !== undefined
  const toggle = async () => {
    try {
      await change({ disabled: !memory?.disabled })
    } catch (failure) {
      showProblem('change the memory', failure)
    }
  }
  const edit = (isOn: boolean) => setAddress({ edit: isOn ? '1' : undefined })
  return (
    <SidePanel
      title="Memory"
      onClose={() => {
        edit(false)
        onClose()
      }}
      actions={
        memory &&
        !isEditing && (
          <MayChange>
            <Button variant="default" onClick={() => edit(true)}>
              Edit memory
            </Button>
            <Button variant="default" onClick={() => void toggle()}>
              {memory.disabled ? 'Enable' : 'Disable'}
            </Button>
            <Button variant="subtle" color="red" onClick={() => setDeleting(true)}>
              Delete…
            </Button>
          </MayChange>
        )
      }
    >
      {error ? (
        <ProblemBlock error={error} what="load the memory" retry={() => void refetch()} />
      ) : !memory ? (
        <Loading />
      ) : isEditing ? (
        <MemoryForm
          initial={memory}
          action="Save memory"
          onSave={async ({ text, tags, type, priority }) => {
            await change({ text, tags, type, priority })
            edit(false)
          }}
          onCancel={() => edit(false)}
        />
      ) : (
        <Details memory={memory} />
      )}
      <Confirm
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        question="Delete this memory?"
        consequence="It is gone for good, also for running sessions at their next prompt. Disable it to keep it out of sessions and still see it here."
        action="Delete memory"
        run={async () => {
          await client.memories.remove({ params })
          onClose()
          // The deleted memory is not loaded again while its panel closes.
          await queries.invalidateQueries({
            queryKey: memoriesKey,
            predicate: ({ queryKey }) => !queryKey.includes(id),
          })
        }}
      />
    </SidePanel>
  )
}

function Details({ memory }: { readonly memory: Memory }) {
  const preview = useQuery(memoryPreviewQuery(memory.agent_id)).data
  const reason = preview?.memories.find(each => each.memory.id === memory.id)?.message
  const { session_id: session } = memory
  return (
    <Stack gap="md">
      <pre className={css.text}>
        <SafeText text={memory.text} />
      </pre>
      <Facts
        of={[
          ['In new sessions', reason ?? (preview && 'found by search only')],
          ['Type', <SafeText key="type" text={memory.type} />],
          ['Tags', memory.tags.length > 0 && <Tags key="tags" tags={memory.tags} />],
          ['Priority', memory.priority],
          ['Source', { agent: 'saved by the agent', ui: 'added by a person', slack: 'from Slack' }[memory.source]],
          ['Saved by', <SafeText key="by" text={memory.created_by} />],
          [
            'Session',
            session !== null && (
              <Link key="session" to="/console/sessions/$sessionId" params={{ sessionId: session }}>
                {session}
              </Link>
            ),
          ],
          ['Found by searches', memory.times_applied === 0 ? 'never' : `${memory.times_applied} times`],
          ['Last found', memory.last_applied_at !== null && <Time key="last" at={memory.last_applied_at} />],
          ['Created', <Time key="created" at={memory.created_at} />],
          ['Id', <Id key="id" id={memory.id} what="memory id" />],
        ]}
      />
    </Stack>
  )
}
