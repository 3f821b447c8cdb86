import { Button, Group, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { bytes } from '../../parts/format.ts'
import { Markdown } from '../../parts/markdown.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import css from './skills.module.css'

/** What a person writes of a skill. */
export interface SkillFields {
  readonly name: string
  readonly description: string | null
  readonly content: string
}

interface Props {
  readonly initial: SkillFields
  /** Verb with object: `Create skill`. */
  readonly action: string
  readonly onSave: (fields: SkillFields) => Promise<void>
  readonly onCancel: () => void
}

const maxBytes = 262_144

/** Name, description and text of a skill; the text is Markdown, with a preview. */
export function SkillForm({ initial, action, onSave, onCancel }: Props) {
  const [fields, setFields] = useState(initial)
  const [isPreview, setPreview] = useState(false)
  const { send, isRunning, error } = useSubmit(() => onSave(fields))
  const { at, rest } = formErrorOf(error, ['name', 'description', 'content'])
  const { name, description, content } = fields
  const size = new TextEncoder().encode(content).length
  const isComplete = name.trim() !== '' && content.trim() !== '' && size <= maxBytes
  return (
    <form onSubmit={event => void send(event)}>
      <Stack gap="md">
        <TextInput
          label="Name"
          value={name}
          onChange={({ currentTarget }) => setFields({ ...fields, name: currentTarget.value })}
          error={at('name')}
          maxLength={200}
          required
        />
        <TextInput
          label="Description"
          description="What it is for; the model does not read it"
          value={description ?? ''}
          onChange={({ currentTarget: { value } }) =>
            setFields({ ...fields, description: value === '' ? null : value })
          }
          error={at('description')}
        />
        <div>
          <Group justify="space-between" mb={4}>
            <Text size="sm" fw={500} component="span" id="skill-content">
              Instructions
            </Text>
            <SegmentedControl
              aria-label="How to show the instructions"
              size="xs"
              data={[
                { value: 'write', label: 'Write' },
                { value: 'preview', label: 'Preview' },
              ]}
              value={isPreview ? 'preview' : 'write'}
              onChange={value => setPreview(value === 'preview')}
            />
          </Group>
          {isPreview ? (
            <div className={css.preview}>
              <Markdown text={content} />
            </div>
          ) : (
            <Textarea
              aria-labelledby="skill-content"
              description={`Markdown, copied word for word into prompts · ${bytes(size)} of 256 KB`}
              value={content}
              onChange={({ currentTarget }) => setFields({ ...fields, content: currentTarget.value })}
              error={at('content') ?? (size > maxBytes && 'At most 256 KB')}
              autosize
              minRows={12}
              maxRows={32}
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12.5 } }}
              required
            />
          )}
        </div>
        <ProblemLine error={rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isRunning} disabled={!isComplete}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
