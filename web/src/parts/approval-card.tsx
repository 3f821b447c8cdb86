import { Button, Group, Textarea } from '@mantine/core'
import { IconHandStop } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import type { Approval } from '../../../src/contract/approvals.ts'
import { client } from '../data/client.ts'
import css from './approval-card.module.css'
import { Arguments } from './arguments.tsx'
import { useArmed } from './armed.ts'
import { Time } from './figures.tsx'
import { duration } from './format.ts'
import { useNow } from './now.ts'
import { ProblemLine } from './page-state.tsx'
import { SafeText } from './safe-text.tsx'

interface Props {
  readonly approval: Approval
  /** True when the runtime of the session takes changed arguments. */
  readonly canEdit: boolean
  /** What the call changes, above the arguments: a diff. */
  readonly preview?: ReactNode
  /** Where the call belongs: a link to its session. */
  readonly place?: ReactNode
  /** Called after an answer, and after an answer that came too late. */
  readonly onAnswer: () => void
}

type Form = 'none' | 'deny' | 'edit'

/** A tool call that waits for a person: exact arguments, who may answer, expiry, and the answers. */
export function ApprovalCard({ approval, canEdit, preview, place, onAnswer }: Props) {
  const card = useRef<HTMLElement>(null)
  const isArmed = useArmed(card)
  const [form, setForm] = useState<Form>('none')
  const { name, input, expires_at: expiresAt, approvers } = approval
  const isExpired = useNow() >= Date.parse(expiresAt)
  const answer = useMutation({
    mutationFn: (body: Answer) =>
      client.approvals.decide({ params: { approval_id: approval.id }, body: { ...body, digest: approval.digest } }),
    onSettled: onAnswer,
  })
  const send = (body: Answer) => {
    if (isArmed) answer.mutate(body)
  }
  const isOff = answer.isPending || isExpired
  return (
    <section className={css.card} ref={card} aria-label={`Approval of ${name}`} data-approval={approval.id}>
      <header className={css.header}>
        <IconHandStop size={16} aria-hidden />
        <span className={css.word}>Approval</span>
        <span className="mono">
          <SafeText text={name} />
        </span>
        {place}
        <span className={css.expiry}>
          <Expiry at={expiresAt} />
        </span>
      </header>
      {preview}
      <Arguments input={input} maxLines={1000} />
      <p className={css.policy}>
        Policy: ask before each call of this tool. {approversText(approvers)} Digest{' '}
        <span className="mono">{approval.digest.slice(0, 12)}</span>
      </p>
      <ProblemLine error={answer.error} />
      {form === 'none' && (
        <Group gap="sm" data-armed={isArmed || undefined} className={css.buttons ?? ''}>
          <Button
            onClick={() => send({ result: 'allow' })}
            aria-disabled={!isArmed}
            disabled={isExpired}
            loading={answer.isPending}
          >
            Approve call
          </Button>
          {canEdit && (
            <Button variant="default" onClick={() => setForm('edit')} disabled={isOff}>
              Edit arguments
            </Button>
          )}
          <Button variant="default" onClick={() => setForm('deny')} disabled={isOff}>
            Deny call
          </Button>
        </Group>
      )}
      {form === 'deny' && (
        <DenyForm isOff={isOff} isArmed={isArmed} onSend={send} onCancel={() => setForm('none')} />
      )}
      {form === 'edit' && (
        <EditForm input={input} isOff={isOff} isArmed={isArmed} onSend={send} onCancel={() => setForm('none')} />
      )}
    </section>
  )
}

interface Answer {
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

function DenyForm({ isOff, isArmed, onSend, onCancel }: FormProps) {
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

function EditForm({ input, isOff, isArmed, onSend, onCancel }: FormProps & { readonly input: unknown }) {
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

function Expiry({ at }: { readonly at: string }) {
  const left = Date.parse(at) - useNow()
  if (left <= 0) return <span className={css.late}>expired</span>
  return (
    <span className={`numbers ${left < 60_000 ? css.late : ''}`}>
      expires in {duration(Math.ceil(left / 1000) * 1000)}
    </span>
  )
}

function approversText(approvers: Approval['approvers']): string {
  if (approvers === null) return 'Everyone who may see the session may answer.'
  return `May answer: ${approvers.join(', ')}.`
}

const outcomes = { allowed: 'Approved', denied: 'Denied', expired: 'Expired', cancelled: 'Cancelled' } as const

interface DecisionProps {
  readonly state: keyof typeof outcomes
  readonly by: string | null | undefined
  readonly at: string | null | undefined
  readonly message: string | null | undefined
  readonly isEdited: boolean
}

/** How a call was answered, by whom and when. */
export function Decision({ state, by, at, message, isEdited }: DecisionProps) {
  return (
    <p className={css.decision}>
      <b>{outcomes[state]}</b>
      {isEdited && ' with changed arguments'}
      {by && (
        <>
          {' '}
          by <SafeText text={by} />
        </>
      )}
      {at && (
        <>
          {' · '}
          <Time at={at} />
        </>
      )}
      {message && (
        <>
          {': '}
          <SafeText text={message} />
        </>
      )}
    </p>
  )
}
