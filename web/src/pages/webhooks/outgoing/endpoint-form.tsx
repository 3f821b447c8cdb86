import { Button, Group, Modal, MultiSelect, Stack, TagsInput, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { EndpointUpdate, ShownEndpoint, WebhookEndpoint } from '../../../../../src/contract/webhook-endpoints.ts'
import { agentChoicesQuery } from '../../../data/agents.ts'
import { client } from '../../../data/client.ts'
import { formErrorOf } from '../../../data/form-error.ts'
import { useMe } from '../../../data/sign-in.tsx'
import { useSubmit } from '../../../data/submit.ts'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SecretOnce } from '../../../parts/secret-once.tsx'
import { endpointsKey } from '../queries.ts'

const fields = ['url', 'owner_id', 'description', 'events', 'agent_ids'] as const

/** Types of events that receivers often want; every type of the log is possible. */
const commonEvents = [
  'session.*',
  'session.status_idle',
  'session.status_running',
  'session.error',
  'agent.message',
  'agent.tool_use',
  'agent.tool_result',
]

interface Draft {
  readonly url: string
  readonly description: string
  readonly events: readonly string[]
  readonly agentIds: readonly string[]
  readonly owner: string
}

const draftOf = (endpoint: WebhookEndpoint | undefined): Draft => ({
  url: endpoint?.url ?? '',
  description: endpoint?.description ?? '',
  events: endpoint?.events ?? ['session.status_idle', 'session.error'],
  agentIds: endpoint?.agent_ids ?? [],
  owner: endpoint?.owner_id ?? '',
})

const writeOf = ({ url, description, events, agentIds }: Draft) => ({
  url: url.trim(),
  description: description.trim() || null,
  events: [...events],
  agent_ids: [...agentIds],
})

interface CreateProps {
  readonly onClose: () => void
  readonly onCreated: (endpoint: WebhookEndpoint) => void
}

/** Creates an endpoint, then shows its secret once. */
export function CreateEndpoint({ onClose, onCreated }: CreateProps) {
  const [created, setCreated] = useState<ShownEndpoint>()
  if (created) {
    return (
      <SecretOnce what="Signing secret of the endpoint" secret={created.secret} onClose={() => onCreated(created)} />
    )
  }
  return (
    <EndpointForm
      title="Create endpoint"
      action="Create endpoint"
      endpoint={undefined}
      save={async draft =>
        setCreated(
          await client.webhookEndpoints.create({
            body: { ...writeOf(draft), ...(draft.owner.trim() !== '' && { owner_id: draft.owner.trim() }) },
          }),
        )
      }
      onClose={onClose}
    />
  )
}

interface EditProps {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
}

export function EditEndpoint({ endpoint, onClose }: EditProps) {
  const save = async (draft: Draft) => {
    const body: EndpointUpdate = writeOf(draft)
    await client.webhookEndpoints.update({ params: { endpoint_id: endpoint.id }, body })
    onClose()
  }
  return <EndpointForm title="Edit endpoint" action="Save endpoint" endpoint={endpoint} save={save} onClose={onClose} />
}

interface FormProps {
  readonly title: string
  readonly action: string
  readonly endpoint: WebhookEndpoint | undefined
  readonly save: (draft: Draft) => Promise<void>
  readonly onClose: () => void
}

function EndpointForm({ title, action, endpoint, save, onClose }: FormProps) {
  const { owner_id: ownOwner } = useMe()
  const queries = useQueryClient()
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  const [draft, setDraft] = useState(() => draftOf(endpoint))
  const set = (changes: Partial<Draft>) => setDraft(before => ({ ...before, ...changes }))
  const { send, error, isRunning } = useSubmit(async () => {
    await save(draft)
    await queries.invalidateQueries({ queryKey: endpointsKey })
  })
  const { at, rest } = formErrorOf(error, fields)
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <TextInput
            label="Address"
            description="A public address with https. Others must be in outbound.allow of the configuration"
            placeholder="https://hooks.example.com/switchyard"
            value={draft.url}
            onChange={({ currentTarget }) => set({ url: currentTarget.value })}
            error={at('url')}
            required
            data-autofocus
          />
          <TextInput
            label="Description"
            value={draft.description}
            onChange={({ currentTarget }) => set({ description: currentTarget.value })}
            error={at('description')}
          />
          <TagsInput
            label="Events"
            description="Types such as session.error, or session.* for all of a kind; empty: every event"
            data={commonEvents}
            value={[...draft.events]}
            onChange={events => set({ events })}
            error={at('events')}
            clearable
          />
          <MultiSelect
            label="Agents"
            description="Only sessions of these; empty: all"
            data={agents.map(({ id, name }) => ({ value: id, label: name }))}
            value={[...draft.agentIds]}
            onChange={agentIds => set({ agentIds })}
            error={at('agent_ids')}
            searchable
            clearable
          />
          {!endpoint && ownOwner === null && (
            <TextInput
              label="Owner"
              description="Only sessions of this owner; empty: those of all owners"
              value={draft.owner}
              onChange={({ currentTarget }) => set({ owner: currentTarget.value })}
              error={at('owner_id')}
            />
          )}
          <ProblemLine error={rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
