import { ActionIcon, Button, Group, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { isRecord } from '../../../data/json.ts'
import { JsonField } from '../../../parts/json-field.tsx'
import { MayChange } from '../../../parts/may-change.tsx'
import css from '../agent.module.css'

type Fields = Readonly<Record<string, unknown>>

interface Props {
  readonly tools: readonly Fields[]
  readonly onChange: (tools: readonly Fields[]) => void
}

const empty = { type: 'custom', name: '', description: '', input_schema: { type: 'object', properties: {} } }

/** Tools that a client of the service runs: a session waits for the result that the client sends. */
export function CustomTools({ tools, onChange }: Props) {
  // Names change while they are typed: the position is what identifies an entry.
  const numbered = tools.map((tool, at) => ({ at, tool }))
  return (
    <section className={css.group} aria-label="Custom tools">
      <div className={css.changeName}>Custom tools</div>
      <span className="soft">
        A client runs them: the session waits until the result arrives. Agents may have at most 128.
      </span>
      {numbered.map(({ at, tool }) => (
        <CustomTool
          key={at}
          tool={tool}
          onChange={next => onChange(tools.map((each, index) => (index === at ? next : each)))}
          onRemove={() => onChange(tools.filter((_, index) => index !== at))}
        />
      ))}
      <MayChange>
        <Group>
          <Button variant="default" leftSection={<IconPlus size={14} />} onClick={() => onChange([...tools, empty])}>
            Add custom tool
          </Button>
        </Group>
      </MayChange>
    </section>
  )
}

interface ToolProps {
  readonly tool: Fields
  readonly onChange: (tool: Fields) => void
  readonly onRemove: () => void
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
const namePattern = /^[A-Za-z0-9_-]{1,128}$/

function CustomTool({ tool, onChange, onRemove }: ToolProps) {
  const name = textIn(tool['name'])
  const timeout = tool['timeout_seconds']
  return (
    <Stack gap="xs" className={css.box ?? ''}>
      <Group gap="sm" align="flex-end" wrap="nowrap">
        <TextInput
          label="Name of the tool"
          value={name}
          onChange={({ currentTarget }) => onChange({ ...tool, name: currentTarget.value })}
          error={name !== '' && !namePattern.test(name) && 'Letters, digits, _ and -'}
          flex={1}
          required
        />
        <NumberInput
          label="Wait for a result"
          placeholder="24 hours"
          value={typeof timeout === 'number' ? timeout : ''}
          onChange={value => {
            const { timeout_seconds: _, ...others } = tool
            onChange(typeof value === 'number' ? { ...others, timeout_seconds: value } : others)
          }}
          min={1}
          max={604_800}
          allowDecimal={false}
          suffix=" s"
          hideControls
          w={130}
        />
        <MayChange>
          <ActionIcon aria-label={`Remove tool ${name}`} onClick={onRemove} mb={6}>
            <IconTrash size={14} />
          </ActionIcon>
        </MayChange>
      </Group>
      <Textarea
        label="Description"
        description="When the model should call it, and what it returns"
        value={textIn(tool['description'])}
        onChange={({ currentTarget }) => onChange({ ...tool, description: currentTarget.value })}
        autosize
        maxLength={10_000}
      />
      <JsonField
        label="Schema of its input"
        value={tool['input_schema']}
        onChange={value => onChange({ ...tool, input_schema: value })}
        problemOf={value =>
          isRecord(value) && value['type'] === 'object' ? undefined : 'A JSON Schema with "type": "object"'
        }
      />
    </Stack>
  )
}
