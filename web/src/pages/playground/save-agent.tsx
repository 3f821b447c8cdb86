import { Button, Group, Modal, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent } from '../../../../src/contract/agents.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { LinkButton } from '../../parts/link-button.tsx'
import { OwnerField, useOwner } from '../../parts/owner-field.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { agentOfForm } from './agent-of-form.ts'
import css from './playground.module.css'
import type { Format, PlaygroundForm } from './wire/form.ts'

interface Props {
  readonly form: PlaygroundForm
  readonly format: Format
  readonly model: string
  readonly onClose: () => void
}

const fields = ['name', 'owner_id', 'system', 'tools', 'model', 'config'] as const

/** Creates an agent with the model, the system prompt, the settings and the tools of a column. */
export function SaveAgent({ form, format, model, onClose }: Props) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [owner, setOwner] = useOwner()
  const [hasBuiltIns, setBuiltIns] = useState(false)
  const [made, setMade] = useState<Agent>()
  const { fields: agent, notes } = agentOfForm(form, { format, model, hasBuiltIns })
  const { send, isRunning, error } = useSubmit(async () => {
    setMade(await client.agents.create({ body: { ...agent, name, owner_id: owner } }))
    void queries.invalidateQueries({ queryKey: agentsKey })
  })
  const { at, rest } = formErrorOf(error, fields)
  const unplaced = at('system') ?? at('tools') ?? at('model') ?? at('config')
  if (made) return <Made agent={made} onClose={onClose} />
  return (
    <Modal opened onClose={onClose} title="Save as agent" size="lg">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <Text size="sm">
            The agent gets the system prompt, the settings and the tools of this form, and the model{' '}
            <b>
              <SafeText text={model} />
            </b>
            . Turns are not part of an agent: each session starts with its own prompt.
          </Text>
          <TextInput
            label="Name"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={at('name')}
            maxLength={200}
            required
            data-autofocus
          />
          <OwnerField value={owner} onChange={setOwner} error={at('owner_id')} />
          <Switch
            label="Give it the built-in tools, too"
            description="Shell and files of a sandbox. The tools of this form become custom tools, which your program answers."
            checked={hasBuiltIns}
            onChange={({ currentTarget }) => setBuiltIns(currentTarget.checked)}
          />
          {notes.length > 0 && (
            <ul className={css.warnings}>
              {notes.map(note => (
                <li key={note}>
                  <SafeText text={note} />
                </li>
              ))}
            </ul>
          )}
          <ProblemLine error={unplaced === undefined ? rest : error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={name.trim() === ''}>
              Create agent
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function Made({ agent, onClose }: { readonly agent: Agent; readonly onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Agent created">
      <Stack gap="md">
        <Text size="sm">
          <b>
            <SafeText text={agent.name} />
          </b>{' '}
          can start sessions now. Its page has its prompt, tools and versions.
        </Text>
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            Stay here
          </Button>
          <LinkButton to="/console/agents/$agentId" params={{ agentId: agent.id }} data-autofocus>
            Open agent
          </LinkButton>
        </Group>
      </Stack>
    </Modal>
  )
}
