import { Button, Group, Modal, Radio, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent } from '../../../../src/contract/agents.ts'
import { agentsKey, capabilitiesQuery } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { modelNames } from '../../data/lists.ts'
import { useSubmit } from '../../data/submit.ts'
import { OwnerField, useOwner } from '../../parts/owner-field.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import css from './agents.module.css'
import { agentTemplates, templateOf } from './templates.ts'

interface Props {
  readonly onClose: () => void
  readonly onMade: (agent: Agent) => void
}

const fields = ['name', 'model', 'runtime', 'system', 'owner_id'] as const

/** Creates an agent from a template. Everything can be changed on its page afterwards. */
export function CreateAgent({ onClose, onMade }: Props) {
  const queries = useQueryClient()
  const models = useQuery(modelNames)
  const runtimes = useQuery(capabilitiesQuery)
  const [id, setId] = useState(agentTemplates[0].id)
  const [name, setName] = useState<string>()
  const [system, setSystem] = useState<string>()
  const [model, setModel] = useState<string>()
  const [runtime, setRuntime] = useState('builtin')
  const [owner, setOwner] = useOwner()
  const template = templateOf(id)
  const names = models.data ?? []
  const chosen = model ?? names[0]
  const { send, isRunning, error } = useSubmit(async () => {
    const { description, tools, config } = template.fields
    const made = await client.agents.create({
      body: {
        name: name ?? template.fields.name,
        owner_id: owner,
        system: system ?? template.fields.system,
        runtime,
        ...(chosen !== undefined && { model: chosen }),
        // Tools and settings of templates are those of the built-in runtime.
        ...(runtime === 'builtin' && { tools, config }),
        ...(description !== undefined && { description }),
      },
    })
    void queries.invalidateQueries({ queryKey: agentsKey })
    onMade(made)
  })
  const { at, rest } = formErrorOf(error, fields)

  return (
    <Modal opened onClose={onClose} title="Create agent" size="xl">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <Radio.Group label="Template" value={id} onChange={setId}>
            <div className={css.templates}>
              {agentTemplates.map(({ id: value, title, purpose }) => (
                <Radio.Card
                  key={value}
                  value={value}
                  className={css.template ?? ''}
                  data-checked={value === id || undefined}
                >
                  <b>{title}</b>
                  <span className="soft">{purpose}</span>
                </Radio.Card>
              ))}
            </div>
          </Radio.Group>
          <TextInput
            label="Name"
            value={name ?? template.fields.name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={at('name')}
            maxLength={200}
            required
            data-autofocus
          />
          <Group grow align="flex-start">
            <Select
              label="Model"
              data={names}
              value={chosen ?? null}
              onChange={value => setModel(value ?? undefined)}
              error={at('model') ?? (models.error ? 'The models cannot be loaded; the first one is used' : undefined)}
              searchable
            />
            <Select
              label="Runtime"
              data={(runtimes.data?.runtimes ?? [{ id: 'builtin', name: 'Built-in', connected: true }]).map(each => ({
                value: each.id,
                label: each.connected ? each.name : `${each.name} (not connected)`,
              }))}
              value={runtime}
              onChange={value => setRuntime(value ?? 'builtin')}
              error={at('runtime')}
            />
          </Group>
          {runtime !== 'builtin' && (
            <Text size="sm" c="dimmed">
              Tools and limits of the template are left out: this runtime has its own.
            </Text>
          )}
          <Textarea
            label="Prompt"
            description="Instructions for each session"
            value={system ?? template.fields.system}
            onChange={({ currentTarget }) => setSystem(currentTarget.value)}
            error={at('system')}
            autosize
            minRows={5}
            maxRows={14}
          />
          <OwnerField value={owner} onChange={setOwner} error={at('owner_id')} />
          {template.next !== undefined && (
            <Text size="sm" c="dimmed">
              Next: {template.next}
            </Text>
          )}
          <ProblemLine error={rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={(name ?? template.fields.name).trim() === ''}>
              Create agent
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
