import { Code, Select, Stack, Switch, Text, TextInput } from '@mantine/core'
import { Fragment } from 'react'
import type { WebhookSignature } from '../../../../../src/contract/webhooks.ts'
import { CopyButton } from '../../../parts/copy.tsx'
import { type SenderId, senderOf, senders } from './senders.ts'
import { type SetupDraft, withSender } from './setup-draft.ts'

interface Props {
  readonly draft: SetupDraft
  readonly setDraft: (change: (before: SetupDraft) => SetupDraft) => void
  /** Called when another sender is chosen. */
  readonly onSender: (sender: SenderId) => void
  readonly address: string
}

/** Who sends: how it proves itself, and what to enter there. */
export function SenderStep({ draft, setDraft, onSender, address }: Props) {
  const sender = senderOf(draft.sender)
  const { signature } = draft
  const choose = (id: SenderId | null) => {
    if (id === null) return
    setDraft(before => withSender(before, id))
    onSender(id)
  }
  return (
    <>
      <Select
        label="Program that sends"
        data={senders.map(({ id, name }) => ({ value: id, label: name }))}
        value={draft.sender}
        onChange={choose}
      />
      <Instructions steps={sender.steps} address={address} secret={`value of ${draft.entry}`} />
      {sender.idHeader !== undefined && draft.sender !== 'bearer' && (
        <Text size="sm" c="dimmed">
          {sender.name} sends the delivery id in <Code>{sender.idHeader}</Code>: a repeat starts nothing for 7 days.
        </Text>
      )}
      {sender.note !== undefined && (
        <Text size="sm" c="dimmed">
          {sender.note}
        </Text>
      )}
      {draft.sender === 'custom' && signature && (
        <CustomSignature
          signature={signature}
          onChange={next => setDraft(before => ({ ...before, signature: next }))}
        />
      )}
      {signature && (
        <Switch
          label="Require a bearer token, too"
          description="Only for senders that can send an Authorization header besides the signature"
          checked={draft.needsToken}
          onChange={({ currentTarget: { checked } }) => setDraft(before => ({ ...before, needsToken: checked }))}
        />
      )}
      {signature && draft.needsToken && (
        <TextInput
          label="Vault entry of the token"
          value={draft.tokenEntry}
          onChange={({ currentTarget: { value } }) => setDraft(before => ({ ...before, tokenEntry: value }))}
        />
      )}
    </>
  )
}

interface InstructionsProps {
  readonly steps: readonly string[]
  readonly address: string
  readonly secret: string
}

/** What to do at the sender. The address can be copied where it is needed. */
function Instructions({ steps, address, secret }: InstructionsProps) {
  return (
    <Stack component="ol" gap="xs" m={0} pl="lg">
      {steps.map(step => (
        <Text key={step} component="li" size="sm" style={{ overflowWrap: 'anywhere' }}>
          {step.split(/(\{url\}|\{secret\})/).map(part => (
            <Fragment key={part}>{shown(part, { address, secret })}</Fragment>
          ))}
        </Text>
      ))}
    </Stack>
  )
}

function shown(part: string, { address, secret }: Omit<InstructionsProps, 'steps'>) {
  if (part === '{secret}') return <Code>{secret}</Code>
  if (part !== '{url}') return part
  return (
    <>
      <Code>{address}</Code> <CopyButton text={address} what="address of the webhook" />
    </>
  )
}

interface SignatureProps {
  readonly signature: WebhookSignature
  readonly onChange: (signature: WebhookSignature) => void
}

/** The fields of a signature that no preset describes. */
function CustomSignature({ signature, onChange }: SignatureProps) {
  const set = (changes: Partial<WebhookSignature>) => onChange(withoutEmpty({ ...signature, ...changes }))
  return (
    <>
      <TextInput
        label="Header with the signature"
        value={signature.header ?? ''}
        onChange={({ currentTarget }) => onChange({ ...signature, header: currentTarget.value })}
        required
      />
      <TextInput
        label="Text before the signature"
        placeholder="sha256="
        value={signature.prefix ?? ''}
        onChange={({ currentTarget }) => set({ prefix: currentTarget.value })}
      />
      <Select
        label="Algorithm"
        data={['sha256', 'sha512', 'sha1'] as const}
        value={signature.algorithm ?? 'sha256'}
        onChange={algorithm => algorithm && set({ algorithm })}
      />
      <Select
        label="Encoding"
        data={['hex', 'base64'] as const}
        value={signature.encoding ?? 'hex'}
        onChange={encoding => encoding && set({ encoding })}
      />
      <TextInput
        label="Header with the time"
        description="If the signature covers a time. The service then accepts a delivery once, within 300 s"
        value={signature.timestamp_header ?? ''}
        onChange={({ currentTarget }) => set({ timestamp_header: currentTarget.value })}
      />
      {signature.timestamp_header !== undefined && (
        <TextInput
          label="Separator between time and body"
          placeholder="."
          value={signature.separator ?? ''}
          onChange={({ currentTarget }) => set({ separator: currentTarget.value })}
        />
      )}
      {signature.timestamp_header === undefined && (
        <Select
          label="Equal bodies"
          data={[
            { value: 'none', label: 'Are separate deliveries' },
            { value: 'body', label: 'Are accepted once within 7 days' },
          ]}
          value={signature.dedupe ?? 'none'}
          onChange={dedupe => dedupe && set({ dedupe: dedupe as 'none' | 'body' })}
        />
      )}
    </>
  )
}

/** Without empty texts; a time rules out the choice for equal bodies. */
function withoutEmpty(signature: WebhookSignature): WebhookSignature {
  const entries = Object.entries(signature).filter(
    ([name, value]) => value !== '' && !(name === 'dedupe' && signature.timestamp_header),
  )
  return Object.fromEntries(entries) as WebhookSignature
}
