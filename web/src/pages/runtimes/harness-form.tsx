import { Button, Checkbox, Group, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { HarnessCreate, HarnessUpdate, RuntimeHarness } from '../../../../src/contract/runtimes.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { present } from '../../data/present.ts'
import { type Submit, useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { reloadRuntimes } from './queries.ts'
import { protocols } from './runtime-words.tsx'

interface Draft {
  readonly alias: string
  readonly api_spec: HarnessCreate['api_spec']
  readonly display_name: string
  readonly api_base: string
  readonly api_key: string
  readonly isKeyRemoved: boolean
}

const optional = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim())

interface CreateProps {
  readonly onClose: () => void
  readonly onDone: (alias: string) => void
}

/** Registers a runtime under an alias. */
export function CreateHarness({ onClose, onDone }: CreateProps) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState<Draft>({
    alias: '',
    api_spec: 'opencode',
    display_name: '',
    api_base: '',
    api_key: '',
    isKeyRemoved: false,
  })
  const submit = useSubmit(async () => {
    const alias = draft.alias.trim()
    const body = present({
      alias,
      api_spec: draft.api_spec,
      api_base: draft.api_base.trim(),
      api_key: optional(draft.api_key),
      display_name: optional(draft.display_name),
    })
    await client.runtimeHarnesses.create({ body })
    await reloadRuntimes(queries)
    onDone(alias)
  })
  return (
    <SidePanel title="Register runtime" onClose={onClose}>
      <HarnessForm
        draft={draft}
        onChange={setDraft}
        submit={submit}
        action="Register runtime"
        onCancel={onClose}
        isNew
      />
    </SidePanel>
  )
}

interface EditProps {
  readonly harness: RuntimeHarness
  readonly onDone: () => void
}

/** Changes a registered runtime; running prompts keep its settings. */
export function EditHarness({ harness, onDone }: EditProps) {
  const queries = useQueryClient()
  const { alias, api_base, display_name, masked_api_key } = harness
  const api_spec = harness.api_spec as Draft['api_spec']
  const [draft, setDraft] = useState<Draft>({
    alias,
    api_spec,
    display_name,
    api_base,
    api_key: '',
    isKeyRemoved: false,
  })
  const submit = useSubmit(async () => {
    const body: HarnessUpdate = present({
      api_spec: draft.api_spec === api_spec ? undefined : draft.api_spec,
      api_base: draft.api_base.trim() === api_base ? undefined : draft.api_base.trim(),
      api_key: draft.isKeyRemoved ? null : optional(draft.api_key),
      display_name: draft.display_name.trim() === display_name ? undefined : optional(draft.display_name),
    })
    await client.runtimeHarnesses.update({ params: { alias }, body })
    await reloadRuntimes(queries)
    onDone()
  })
  return (
    <HarnessForm
      draft={draft}
      onChange={setDraft}
      submit={submit}
      action="Save runtime"
      onCancel={onDone}
      maskedKey={masked_api_key}
      isMoved={draft.api_base.trim() !== api_base}
    />
  )
}

interface FormProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  readonly submit: Submit
  readonly action: string
  readonly onCancel: () => void
  readonly isNew?: boolean
  readonly maskedKey?: string | null
  /** True when the address was changed, which drops a stored key. */
  readonly isMoved?: boolean
}

const fields = ['alias', 'api_spec', 'display_name', 'api_base', 'api_key'] as const

function HarnessForm(props: FormProps) {
  const { draft, onChange, submit, action, onCancel, isNew = false, maskedKey = null, isMoved = false } = props
  const error = formErrorOf(submit.error, fields)
  const set = (changes: Partial<Draft>) => onChange({ ...draft, ...changes })
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        {isNew && (
          <TextInput
            label="Alias"
            description="The name that agents and sessions use: letters, digits, _ and -"
            placeholder="team-opencode"
            maxLength={64}
            value={draft.alias}
            onChange={({ currentTarget }) => set({ alias: currentTarget.value })}
            error={error.at('alias')}
            required
            data-autofocus
          />
        )}
        <Select
          label="Protocol"
          description="Programs that the service starts, such as Claude Code by ACP, are set in the configuration file"
          data={protocols.map(({ value, label }) => ({ value, label }))}
          value={draft.api_spec}
          onChange={value => set({ api_spec: protocols.find(each => each.value === value)?.value ?? draft.api_spec })}
          error={error.at('api_spec')}
        />
        <TextInput
          label="Display name"
          placeholder={draft.alias}
          maxLength={200}
          value={draft.display_name}
          onChange={({ currentTarget }) => set({ display_name: currentTarget.value })}
          error={error.at('display_name')}
        />
        <TextInput
          label="Address"
          description="The key is sent to this host only. A private address must be in outbound.allow"
          placeholder="https://opencode.example.com"
          value={draft.api_base}
          onChange={({ currentTarget }) => set({ api_base: currentTarget.value })}
          error={error.at('api_base')}
          required
        />
        <PasswordInput
          label="API key"
          description={keyHelp(maskedKey, isMoved)}
          autoComplete="off"
          value={draft.api_key}
          onChange={({ currentTarget }) => set({ api_key: currentTarget.value })}
          error={error.at('api_key')}
          disabled={draft.isKeyRemoved}
        />
        {maskedKey !== null && (
          <Checkbox
            label="Remove the stored key"
            checked={draft.isKeyRemoved}
            onChange={({ currentTarget }) => set({ isKeyRemoved: currentTarget.checked, api_key: '' })}
          />
        )}
        {isMoved && maskedKey !== null && draft.api_key === '' && (
          <Text size="sm" c="var(--state-waiting)">
            The stored key belongs to the old address and is removed. Give the key of the new one.
          </Text>
        )}
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={submit.isRunning}
            disabled={draft.alias.trim() === '' || draft.api_base.trim() === ''}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function keyHelp(maskedKey: string | null, isMoved: boolean): string {
  if (maskedKey === null) return 'Where the runtime asks for one. It is stored encrypted'
  return isMoved ? 'The key for the new address' : `Empty: keep ${maskedKey}`
}
