import { Button, Group, NumberInput, Select, Textarea } from '@mantine/core'
import css from './playground.module.css'
import { type Format, jsonProblems, type PlaygroundForm, type ThinkingKind } from './wire/form.ts'
import { exampleSchema, exampleTools } from './wire/tools.ts'

interface Props {
  readonly form: PlaygroundForm
  readonly format: Format
  readonly edit: (changes: Partial<PlaygroundForm>) => void
}

const numberOf = (value: string | number): number | undefined => (typeof value === 'number' ? value : undefined)

const efforts: Readonly<Record<Format, readonly string[]>> = {
  messages: ['low', 'medium', 'high', 'xhigh', 'max'],
  chat: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  responses: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
}

const thinkingKinds: readonly { readonly value: ThinkingKind; readonly label: string }[] = [
  { value: 'default', label: 'The model’s own' },
  { value: 'adaptive', label: 'Adaptive' },
  { value: 'enabled', label: 'Token budget' },
  { value: 'disabled', label: 'Off' },
]

/** Settings that all columns share. An empty field is not sent. */
export function SettingsFields({ form, format, edit }: Props) {
  const problems = jsonProblems(form)
  return (
    <>
      <Group grow align="flex-start" gap="sm">
        <NumberInput
          label="Max output tokens"
          value={form.maxTokens ?? ''}
          onChange={value => edit({ maxTokens: numberOf(value) })}
          error={format === 'messages' && form.maxTokens === undefined ? 'Messages require it' : undefined}
          min={1}
          allowDecimal={false}
          placeholder="The model’s own"
          hideControls
        />
        <NumberInput
          label="Temperature"
          value={form.temperature ?? ''}
          onChange={value => edit({ temperature: numberOf(value) })}
          min={0}
          max={2}
          step={0.1}
          placeholder="The model’s own"
          hideControls
        />
      </Group>
      <Group grow align="flex-start" gap="sm">
        {format === 'messages' && (
          <Select
            label="Thinking"
            data={thinkingKinds}
            value={form.thinking}
            onChange={value => edit({ thinking: value ?? 'default' })}
          />
        )}
        <Select
          label={format === 'messages' ? 'Effort' : 'Reasoning effort'}
          data={choices(efforts[format], form.effort)}
          value={form.effort === '' ? null : form.effort}
          onChange={value => edit({ effort: value ?? '' })}
          placeholder="The model’s own"
          clearable
        />
      </Group>
      {format === 'messages' && form.thinking === 'enabled' && (
        <NumberInput
          label="Tokens of thinking"
          description="At least 1,024, and fewer than the output tokens"
          value={form.thinkingBudget ?? ''}
          onChange={value => edit({ thinkingBudget: numberOf(value) })}
          min={1}
          allowDecimal={false}
          hideControls
        />
      )}
      <JsonText
        label="Tools"
        description="A JSON list. The playground shows calls; it runs no tool."
        value={form.tools}
        onChange={tools => edit({ tools })}
        problem={problems.tools}
        example={exampleTools}
      />
      <JsonText
        label="Schema of the answer"
        description="A JSON Schema that the answer must match"
        value={form.schema}
        onChange={schema => edit({ schema })}
        problem={problems.schema}
        example={exampleSchema}
      />
      <JsonText
        label="Other fields"
        description="A JSON object, added to the request: stop sequences, tool choice and other fields of this format"
        value={form.others}
        onChange={others => edit({ others })}
        problem={problems.others}
      />
    </>
  )
}

/** A value of another format stays visible until it is changed. */
const choices = (known: readonly string[], value: string): string[] =>
  value === '' || known.includes(value) ? [...known] : [...known, value]

interface JsonProps {
  readonly label: string
  readonly description: string
  readonly value: string
  readonly onChange: (text: string) => void
  readonly problem: string | undefined
  readonly example?: string
}

function JsonText({ label, description, value, onChange, problem, example }: JsonProps) {
  return (
    <div className={css.json}>
      <Textarea
        label={label}
        description={description}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        error={problem}
        autosize
        minRows={1}
        maxRows={18}
        spellCheck={false}
        classNames={{ input: css.code ?? '' }}
      />
      {example !== undefined && value === '' && (
        <Button
          className={css.example ?? ''}
          variant="subtle"
          size="compact-xs"
          aria-label={`Insert example: ${label.toLowerCase()}`}
          onClick={() => onChange(example)}
        >
          Insert example
        </Button>
      )}
    </div>
  )
}
