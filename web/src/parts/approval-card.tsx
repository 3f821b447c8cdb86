import { Button, Group } from '@mantine/core'
import { IconHandStop } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import type { Approval } from '../../../src/contract/approvals.ts'
import { client } from '../data/client.ts'
import { useMayChange } from '../data/sign-in.tsx'
import css from './approval-card.module.css'
import { type Answer, DenyForm, EditForm } from './approval-forms.tsx'
import { Arguments } from './arguments.tsx'
import { useArmed } from './armed.ts'
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

/** A tool call that waits for a person: exact arguments, who may answer, expiry, and the answers, which viewers cannot give. */
export function ApprovalCard({ approval, canEdit, preview, place, onAnswer }: Props) {
  const card = useRef<HTMLElement>(null)
  const isArmed = useArmed(card)
  const mayChange = useMayChange()
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
      {mayChange && form === 'none' && (
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
      {form === 'deny' && <DenyForm isOff={isOff} isArmed={isArmed} onSend={send} onCancel={() => setForm('none')} />}
      {form === 'edit' && (
        <EditForm input={input} isOff={isOff} isArmed={isArmed} onSend={send} onCancel={() => setForm('none')} />
      )}
    </section>
  )
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
  if (approvers === null) return 'Everyone who may see the session may answer, except viewers.'
  return `May answer: ${approvers.join(', ')}.`
}
