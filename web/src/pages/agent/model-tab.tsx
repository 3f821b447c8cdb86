import { Autocomplete, Group, NumberInput, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Model } from '../../../../src/contract/models.ts'
import { isRecord, recordOf } from '../../data/json.ts'
import { modelsQuery } from '../../data/lists.ts'
import { count } from '../../parts/format.ts'
import { JsonField } from '../../parts/json-field.tsx'
import css from './agent.module.css'
import { ChoiceSetting, NumberSetting, TextsSetting } from './setting-fields.tsx'
import { pathOf, valueAt, writeAt } from './settings.ts'
import type { Editing } from './use-draft.ts'

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'].map(value => ({ value, label: value }))
const maxTokens = 100_000_000

/** The model, the settings of each call, and how much of its window a session uses. */
export function ModelTab({ editing }: { readonly editing: Editing }) {
  const { draft, edit, errorAt } = editing
  const { data } = useQuery(modelsQuery)
  const models = data?.data ?? []
  const names = models.map(({ id }) => id)
  const model = models.find(({ id }) => id === draft.model)
  const isUnknown = data !== undefined && !model
  return (
    <>
      <div className={css.group}>
        <Autocomplete
          label="Model"
          description={model ? factsOf(model) : 'Any name is stored; sessions fail when no model has it'}
          data={names}
          value={draft.model}
          onChange={value => edit({ model: value })}
          error={errorAt('model') ?? (isUnknown ? 'Your key may use no model of this name' : undefined)}
        />
        <TextsSetting
          editing={editing}
          at={{ key: 'model_settings', name: 'fallbacks' }}
          label="Fallbacks"
          description="Models that answer when this one fails, in this order"
          placeholder="None"
          options={names}
          max={5}
        />
      </div>
      <div className={css.group}>
        <ChoiceSetting
          editing={editing}
          at={{ key: 'model_settings', name: 'effort' }}
          label="Effort"
          description="How much the model thinks; each model gets the nearest value that it knows"
          options={efforts}
          absent="The model’s own"
        />
        <Thinking editing={editing} />
        <Group grow align="flex-start">
          <NumberSetting
            editing={editing}
            at={{ key: 'model_settings', name: 'temperature' }}
            label="Temperature"
            min={0}
            max={2}
            digits={2}
            absent="The model’s own"
          />
          <NumberSetting
            editing={editing}
            at={{ key: 'model_settings', name: 'top_p' }}
            label="Top P"
            min={0}
            max={1}
            digits={3}
            absent="The model’s own"
          />
        </Group>
        <MaxTokens editing={editing} />
      </div>
      <div className={css.group}>
        <Group grow align="flex-start">
          <NumberSetting
            editing={editing}
            at={{ key: 'context', name: 'max_input_tokens' }}
            label="Context of a request"
            description="Longer conversations are compacted"
            min={1000}
            max={maxTokens}
            absent="The whole window"
            unit="tokens"
          />
          <NumberSetting
            editing={editing}
            at={{ key: 'context', name: 'kept_tokens' }}
            label="Kept by compaction"
            description="The last part, as it is"
            min={0}
            max={maxTokens}
            absent="A quarter of it"
            unit="tokens"
          />
        </Group>
        <JsonField
          label="Schema of the answer"
          description="A JSON Schema that each answer must match; empty for answers in text"
          value={draft.config['output_schema']}
          onChange={value => editing.set('output_schema', value)}
          problemOf={value => (value === undefined || isRecord(value) ? undefined : 'A schema is a JSON object')}
          error={errorAt('config.output_schema')}
          placeholder='{"type": "object", "properties": {…}}'
        />
      </div>
    </>
  )
}

function factsOf({ context_window: window, max_output_tokens: output, pricing }: Model): string {
  const price =
    pricing &&
    `$${pricing.input} in, ${pricing.output === null ? 'unknown' : `$${pricing.output}`} out per million tokens`
  return [
    window !== undefined && `window ${count(window)} tokens`,
    output !== undefined && `answers up to ${count(output)}`,
    price ?? 'price unknown',
  ]
    .filter(Boolean)
    .join(' · ')
}

const kinds = [
  { value: 'adaptive', label: 'As much as the model finds useful' },
  { value: 'enabled', label: 'Up to a number of tokens' },
  { value: 'disabled', label: 'None' },
]
const defaultBudget = 4096

function Thinking({ editing }: { readonly editing: Editing }) {
  const at = { key: 'model_settings', name: 'thinking' }
  const { type, budget_tokens: budget } = recordOf(valueAt(editing, at))
  const write = (kind: string | null) =>
    writeAt(
      editing,
      at,
      kind === null ? undefined : kind === 'enabled' ? { type: kind, budget_tokens: defaultBudget } : { type: kind },
    )
  return (
    <Group grow align="flex-start">
      <Select
        label="Thinking"
        placeholder="The model’s own"
        data={kinds}
        value={typeof type === 'string' ? type : null}
        onChange={write}
        error={editing.errorAt(pathOf(at))}
        clearable
      />
      {type === 'enabled' && (
        <NumberInput
          label="Tokens of thinking"
          value={typeof budget === 'number' ? budget : defaultBudget}
          onChange={value => typeof value === 'number' && writeAt(editing, at, { type, budget_tokens: value })}
          min={1024}
          allowDecimal={false}
          thousandSeparator=" "
          hideControls
        />
      )}
    </Group>
  )
}

/** The limit stands at one of two places; the one in use is edited. */
function MaxTokens({ editing }: { readonly editing: Editing }) {
  const isOld = typeof valueAt(editing, { key: 'max_tokens' }) === 'number'
  const isNew = typeof valueAt(editing, { key: 'model_settings', name: 'max_tokens' }) === 'number'
  return (
    <NumberSetting
      editing={editing}
      at={isOld && !isNew ? { key: 'max_tokens' } : { key: 'model_settings', name: 'max_tokens' }}
      label="Longest answer"
      min={1}
      max={10_000_000}
      absent="16 000"
      unit="tokens"
    />
  )
}
