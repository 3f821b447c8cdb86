import { Button, Group, NumberInput, PasswordInput, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ModelSetting } from '../../../../src/contract/model-settings.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { objectIn } from '../../data/json.ts'
import { type Submit, useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { draftOf, emptyModel, type ModelDraft, modelWrite } from './model-draft.ts'
import css from './model-form.module.css'
import { providersQuery, reloadModels } from './queries.ts'

interface CreateProps {
  readonly onClose: () => void
  readonly onDone: (id: string) => void
}

/** Adds a name for clients with one upstream. A second entry of the same name shares its calls. */
export function CreateModel({ onClose, onDone }: CreateProps) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState(emptyModel)
  const submit = useSubmit(async () => {
    const { id } = await client.modelSettings.create({ body: modelWrite(draft, emptyModel) })
    await reloadModels(queries)
    onDone(id)
  })
  return (
    <SidePanel title="Add model" onClose={onClose}>
      <ModelForm draft={draft} onChange={setDraft} submit={submit} action="Add model" onCancel={onClose} />
    </SidePanel>
  )
}

interface EditProps {
  readonly setting: ModelSetting
  readonly onDone: () => void
}

/** Changes one upstream of a model. */
export function EditModel({ setting, onDone }: EditProps) {
  const queries = useQueryClient()
  const [before] = useState(() => draftOf(setting))
  const [draft, setDraft] = useState(before)
  const submit = useSubmit(async () => {
    await client.modelSettings.update({ params: { model_id: setting.id }, body: modelWrite(draft, before) })
    await reloadModels(queries)
    onDone()
  })
  const { api_key: masked } = setting.params
  return (
    <ModelForm
      draft={draft}
      onChange={setDraft}
      submit={submit}
      action="Save model"
      onCancel={onDone}
      maskedKey={typeof masked === 'string' ? masked : undefined}
    />
  )
}

interface FormProps {
  readonly draft: ModelDraft
  readonly onChange: (draft: ModelDraft) => void
  readonly submit: Submit
  readonly action: string
  readonly onCancel: () => void
  readonly maskedKey?: string | undefined
}

const fields = [
  'model_name',
  'params.model',
  'params.api_base',
  'params.api_key',
  'params.weight',
  'params.rpm',
  'params.tpm',
  'params.max_parallel',
  'params.input_cost_per_token',
  'params.output_cost_per_token',
  'params',
] as const

const amountOf = (value: number | string): number | '' => (typeof value === 'number' ? value : '')

function ModelForm({ draft, onChange, submit, action, onCancel, maskedKey }: FormProps) {
  const { data } = useQuery(providersQuery)
  const error = formErrorOf(submit.error, fields)
  const set = (changes: Partial<ModelDraft>) => onChange({ ...draft, ...changes })
  const isJson = objectIn(draft.others) !== undefined
  const isReady = draft.model_name.trim() !== '' && draft.provider !== '' && draft.upstream.trim() !== '' && isJson
  const limit = (name: 'weight' | 'rpm' | 'tpm' | 'max_parallel', label: string) => (
    <NumberInput
      label={label}
      placeholder={name === 'weight' ? '1' : 'no limit'}
      min={0}
      thousandSeparator=","
      hideControls
      value={draft[name]}
      onChange={value => set({ [name]: amountOf(value) })}
      error={error.at(`params.${name}`)}
    />
  )
  const price = (name: 'input_cost' | 'output_cost', label: string) => (
    <NumberInput
      label={label}
      prefix="$"
      placeholder="from the price list"
      min={0}
      decimalScale={6}
      hideControls
      value={draft[name]}
      onChange={value => set({ [name]: amountOf(value) })}
      error={error.at(`params.${name}_per_token`)}
    />
  )
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        <TextInput
          label="Name"
          description="Clients send it as model. Entries of one name share its calls by weight; it may end with *"
          placeholder="sonnet"
          maxLength={200}
          value={draft.model_name}
          onChange={({ currentTarget }) => set({ model_name: currentTarget.value })}
          error={error.at('model_name')}
          required
          data-autofocus
        />
        <Select
          label="Provider"
          data={(data?.providers ?? []).map(({ id, name, connected }) => ({
            value: id,
            label: connected ? name : `${name} (not connected)`,
          }))}
          value={draft.provider === '' ? null : draft.provider}
          onChange={provider => set({ provider: provider ?? '' })}
          searchable
          required
        />
        <TextInput
          label="Model of the provider"
          placeholder="claude-sonnet-5"
          maxLength={400}
          value={draft.upstream}
          onChange={({ currentTarget }) => set({ upstream: currentTarget.value })}
          error={error.at('params.model')}
          required
        />
        <TextInput
          label="Address"
          description="Empty: that of the provider. A separate address needs a separate key"
          value={draft.api_base}
          onChange={({ currentTarget }) => set({ api_base: currentTarget.value })}
          error={error.at('params.api_base')}
        />
        <PasswordInput
          label="API key"
          description={maskedKey === undefined ? 'Empty: that of the provider' : `Empty: keep ${maskedKey}`}
          autoComplete="off"
          value={draft.api_key}
          onChange={({ currentTarget }) => set({ api_key: currentTarget.value })}
          error={error.at('params.api_key')}
        />
        <div className={css.pair}>
          {price('input_cost', 'Input per 1M tokens')}
          {price('output_cost', 'Output per 1M tokens')}
          {limit('weight', 'Weight')}
          {limit('max_parallel', 'Calls at a time')}
          {limit('rpm', 'Requests a minute')}
          {limit('tpm', 'Tokens a minute')}
        </div>
        <Textarea
          label="Other parameters"
          description="As JSON, such as base_model, capabilities or timeouts"
          placeholder='{"timeouts": {"total_ms": 300000}}'
          autosize
          minRows={2}
          maxRows={12}
          classNames={{ input: 'mono' }}
          value={draft.others}
          onChange={({ currentTarget }) => set({ others: currentTarget.value })}
          error={error.at('params') ?? (isJson ? undefined : 'Other parameters must be a JSON object')}
        />
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={!isReady}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
