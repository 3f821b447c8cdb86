import { Autocomplete, Button, Group, NumberInput, Stack, TagsInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'

/** What a person writes of a memory. */
export interface MemoryFields {
  readonly text: string
  readonly tags: string[]
  readonly type: string
  readonly priority: number
}

interface Props {
  readonly initial: MemoryFields
  /** Verb with object: `Add memory`. */
  readonly action: string
  readonly onSave: (fields: MemoryFields) => Promise<void>
  readonly onCancel: () => void
}

const maxTags = 8
const maxPriority = 2_147_483_647

export function MemoryForm({ initial, action, onSave, onCancel }: Props) {
  const [fields, setFields] = useState(initial)
  const { send, isRunning, error } = useSubmit(() => onSave(fields))
  const { at, rest } = formErrorOf(error, ['text', 'tags', 'type', 'priority'])
  return (
    <form onSubmit={event => void send(event)}>
      <Stack gap="md">
        <Textarea
          label="Text"
          description="One fact or preference. At most 32 KB"
          value={fields.text}
          onChange={({ currentTarget }) => setFields({ ...fields, text: currentTarget.value })}
          error={at('text')}
          autosize
          minRows={4}
          maxRows={20}
          required
        />
        <Autocomplete
          label="Type"
          description="A free label"
          data={['fact', 'preference', 'instruction']}
          value={fields.type}
          onChange={type => setFields({ ...fields, type })}
          error={at('type')}
          maxLength={200}
        />
        <TagsInput
          label="Tags"
          description="At most eight; Enter adds one"
          value={fields.tags}
          onChange={tags => setFields({ ...fields, tags })}
          error={at('tags')}
          maxTags={maxTags}
        />
        <NumberInput
          label="Priority"
          description="Higher ones come first. New sessions get at most 50 memories and 16 KB"
          value={fields.priority}
          onChange={value => setFields({ ...fields, priority: typeof value === 'number' ? value : 0 })}
          error={at('priority')}
          min={-maxPriority}
          max={maxPriority}
          allowDecimal={false}
        />
        <ProblemLine error={rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isRunning} disabled={fields.text.trim() === ''}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
