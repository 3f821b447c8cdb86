import { Button, Group, Textarea } from '@mantine/core'
import { useState } from 'react'
import css from './approval-card.module.css'

/** Body of a decision, without its digest. */
export interface Answer {
  readonly result: 'allow' | 'deny'
  readonly message?: string
  readonly input?: unknown
}

interface FormProps {
  readonly isOff: boolean
  readonly isArmed: boolean
  readonly onSend: (answer: Answer) => void
  readonly onCancel: () => void
}

/** Asks for the reason of a denial. */
export function DenyForm({ isOff, isArmed, onSend, onCancel }: FormProps) {
  const [message, setMessage] = useState('')
  const deny = () => onSend({ result: 'deny', ...(message.trim() !== '' && { message: message.trim() }) })
  return (
    <div className={css.form}>
      <Textarea
        label="Reason"
        description="The model reads it. Say what to do instead."
        value={message}
        maxLength={10_000}
        onChange={({ currentTarget }) => setMessage(currentTarget.value)}
        autosize
        minRows={2}
        autoFocus
      />
      <Group gap="sm">
        <Button color="red" onClick={deny} disabled={isOff} aria-disabled={!isArmed}>
          Deny call
        </Button>
        <Button variant="subtle" color="gray" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
    </div>
  )
}

/** Changes the arguments of a call before it is approved. */
export function EditForm({ input, isOff, isArmed, onSend, onCancel }: FormProps & { readonly input: unknown }) {
  const [text, setText] = useState(() => JSON.stringify(input, null, 2))
  const { value, error } = parsed(text)
  const isChanged = error === undefined && JSON.stringify(value) !== JSON.stringify(input)
  return (
    <div className={css.form}>
      <Textarea
        label="Arguments as JSON"
        description="The call runs with these instead, if they match the input schema of the tool. The log keeps both versions."
        classNames={{ input: css.code ?? '' }}
        value={text}
        error={error}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        spellCheck={false}
        autosize
        minRows={3}
        maxRows={20}
        autoFocus
      />
      <Group gap="sm">
        <Button
          onClick={() => onSend({ result: 'allow', input: value })}
          disabled={isOff || !isChanged}
          aria-disabled={!isArmed}
        >
          Approve with changes
        </Button>
        <Button variant="subtle" color="gray" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
    </div>
  )
}

function parsed(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { error: `not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}
