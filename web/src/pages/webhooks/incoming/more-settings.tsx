import { Collapse, NumberInput, Select, Stack, TextInput, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import type { WebhookReplySettings, WebhookReplyType } from '../../../../../src/contract/webhooks.ts'
import type { SetupDraft } from './setup-draft.ts'

interface Props {
  readonly draft: SetupDraft
  readonly set: (changes: Partial<SetupDraft>) => void
}

/** Settings that few webhooks need: answers to the sender, limits, files. */
export function MoreSettings({ draft, set }: Props) {
  const isUsed = draft.reply ?? draft.files ?? draft.rpmLimit ?? (draft.idHeader || undefined)
  const [isOpen, { toggle }] = useDisclosure(isUsed !== undefined)
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen} fz="sm">
        {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />} Reply, limits
        and files
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Stack gap="sm" mt="sm">
          <Reply reply={draft.reply} onChange={reply => set({ reply })} />
          <NumberInput
            label="Deliveries per minute"
            description="More are answered with 429; empty: no limit"
            value={draft.rpmLimit ?? ''}
            onChange={limit => set({ rpmLimit: limit === '' ? undefined : Number(limit) })}
            min={1}
            allowDecimal={false}
          />
          <TextInput
            label="Header with the delivery id"
            description="Replaces the default headers, such as webhook-id and x-request-id"
            value={draft.idHeader}
            onChange={({ currentTarget }) => set({ idHeader: currentTarget.value })}
          />
          <Files files={draft.files} onChange={files => set({ files })} />
        </Stack>
      </Collapse>
    </div>
  )
}

const replyTypes: readonly { readonly value: WebhookReplyType | 'none'; readonly label: string }[] = [
  { value: 'none', label: 'Nothing' },
  { value: 'github_comment', label: 'Comment on the GitHub issue or pull request' },
  { value: 'slack_thread', label: 'Message in the Slack thread' },
  { value: 'callback', label: 'Signed request to an address' },
]

interface ReplyProps {
  readonly reply: WebhookReplySettings | undefined
  readonly onChange: (reply: WebhookReplySettings | undefined) => void
}

function Reply({ reply, onChange }: ReplyProps) {
  const type = reply ? (reply.type ?? 'github_comment') : 'none'
  const choose = (next: string | null) =>
    onChange(
      next === 'none' || next === null
        ? undefined
        : { ...reply, type: next as WebhookReplyType, secret_key: reply?.secret_key ?? '' },
    )
  return (
    <>
      <Select label="Answer of the agent to the sender" data={replyTypes} value={type} onChange={choose} />
      {reply && (
        <TextInput
          label="Vault entry for the answer"
          description={secretHints[type]}
          value={reply.secret_key}
          onChange={({ currentTarget }) => onChange({ ...reply, secret_key: currentTarget.value })}
          required
        />
      )}
      {reply && (
        <TextInput
          label={type === 'callback' ? 'Address of the receiver' : 'Base address of the API'}
          description={type === 'callback' ? undefined : 'Only for other installations, such as GitHub Enterprise'}
          value={reply.url ?? ''}
          onChange={({ currentTarget }) => onChange(withUrl(reply, currentTarget.value))}
          required={type === 'callback'}
        />
      )}
    </>
  )
}

const secretHints: Readonly<Record<string, string>> = {
  github_comment: 'A token that may write comments',
  slack_thread: 'A bot token with chat:write',
  callback: 'A signing secret: whsec_ and 24 to 64 bytes in base64',
}

function withUrl({ url: _url, ...reply }: WebhookReplySettings, url: string): WebhookReplySettings {
  return url === '' ? reply : { ...reply, url }
}

type FileFields = NonNullable<SetupDraft['files']>

interface FilesProps {
  readonly files: FileFields | undefined
  readonly onChange: (files: FileFields | undefined) => void
}

const fileFields = [
  ['data', 'Field with the content of a file', 'In base64; empty: the payload has no files'],
  ['each', 'List of files', 'If the payload has several; the other fields are those of its items'],
  ['name', 'Field with the name', ''],
  ['media_type', 'Field with the media type', ''],
] as const

function Files({ files, onChange }: FilesProps) {
  const change = (name: keyof FileFields, value: string) => {
    const entries = Object.entries({ ...files, [name]: value }).filter(([, text]) => text !== '')
    onChange(entries.length === 0 ? undefined : { data: '', ...Object.fromEntries(entries) })
  }
  return fileFields
    .filter(([name]) => name === 'data' || files !== undefined)
    .map(([name, label, description]) => (
      <TextInput
        key={name}
        label={label}
        description={description || undefined}
        value={files?.[name] ?? ''}
        onChange={({ currentTarget }) => change(name, currentTarget.value)}
      />
    ))
}
