import { ActionIcon, Button, CloseButton, FileButton, Select, Textarea, Tooltip } from '@mantine/core'
import { IconPaperclip, IconSend2 } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react'
import type { PromptMode } from '../../../../../src/contract/prompts.ts'
import { client } from '../../../data/client.ts'
import { modelNames } from '../../../data/lists.ts'
import { onceKey } from '../../../data/once-key.ts'
import { bytes } from '../../../parts/format.ts'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { attachmentProblem, partOf } from './attachments.ts'
import css from './composer.module.css'

interface Props {
  readonly sessionId: string
  /** Model of the last prompt, else that of the agent. */
  readonly model: string | undefined
  /** Returns that model also before it is known: a prompt must name one. */
  readonly loadModel: () => Promise<string>
  readonly isBusy: boolean
}

const modes: readonly { readonly value: PromptMode; readonly label: string; readonly effect: string }[] = [
  { value: 'enqueue', label: 'Enqueue', effect: 'Waits until the run ends' },
  { value: 'steer', label: 'Steer', effect: 'Joins the run at its next model request' },
  { value: 'interrupt', label: 'Interrupt', effect: 'Stops the run, then runs' },
  { value: 'reject', label: 'Reject', effect: 'Rejected while a run is in progress' },
]

interface Draft {
  readonly text: string
  readonly files: readonly File[]
}

const emptyDraft: Draft = { text: '', files: [] }

/** Writes a message to the session. `Ctrl+Enter` sends it, once, with an idempotency key. */
export function Composer({ sessionId, model, loadModel, isBusy }: Props) {
  const [draft, setDraft] = useState(emptyDraft)
  const [mode, setMode] = useState<PromptMode>('enqueue')
  const [chosen, setChosen] = useState<string | null>(null)
  // A repeated send of the same message has the same key, also after an error.
  const sendKey = useRef(onceKey())
  const problem = attachmentProblem(draft.files)
  const isEmpty = draft.text.trim() === '' && draft.files.length === 0
  const send = useMutation({
    mutationFn: async () => {
      const files = await Promise.all(draft.files.map(partOf))
      const text = draft.text.trim() === '' ? [] : [{ type: 'text' as const, text: draft.text }]
      const modelID = chosen ?? (await loadModel())
      await client.sessions.promptAsync(
        {
          params: { session_id: sessionId },
          body: { parts: [...text, ...files], mode, model: { modelID } },
        },
        { idempotencyKey: sendKey.current },
      )
    },
    onSuccess: () => {
      setDraft(emptyDraft)
      sendKey.current = onceKey()
    },
  })
  const change = (changes: Partial<Draft>) => {
    setDraft(before => ({ ...before, ...changes }))
    if (send.isError) sendKey.current = onceKey()
  }
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (!isEmpty && !problem && !send.isPending) send.mutate()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit()
  }
  const effect = modes.find(({ value }) => value === mode)?.effect ?? ''
  return (
    <form className={css.composer} onSubmit={submit} aria-label="Message to the session">
      <Textarea
        aria-label="Message"
        placeholder="Message"
        value={draft.text}
        maxLength={1_000_000}
        onChange={({ currentTarget }) => change({ text: currentTarget.value })}
        onKeyDown={onKeyDown}
        autosize
        minRows={1}
        maxRows={10}
      />
      <Files files={draft.files} onRemove={file => change({ files: draft.files.filter(each => each !== file) })} />
      <ProblemLine error={problem === undefined ? send.error : new Error(problem)} />
      <div className={css.controls}>
        <FileButton multiple onChange={files => change({ files: [...draft.files, ...files] })}>
          {props => (
            <Tooltip label="Attach files">
              <ActionIcon {...props} aria-label="Attach files">
                <IconPaperclip size={16} />
              </ActionIcon>
            </Tooltip>
          )}
        </FileButton>
        <Select
          size="xs"
          w={120}
          aria-label="When a run is in progress"
          data={modes.map(({ value, label }) => ({ value, label }))}
          value={mode}
          onChange={value => setMode((value ?? 'enqueue') as PromptMode)}
        />
        <ModelChoice model={model} chosen={chosen} onChange={setChosen} />
        <span className={`${css.effect} soft clip`}>{isBusy ? effect : ''}</span>
        <Button
          className={css.send ?? ''}
          type="submit"
          disabled={isEmpty || problem !== undefined}
          loading={send.isPending}
          leftSection={<IconSend2 size={14} aria-hidden />}
        >
          Send message
        </Button>
      </div>
    </form>
  )
}

interface ModelProps {
  readonly model: string | undefined
  readonly chosen: string | null
  readonly onChange: (model: string | null) => void
}

function ModelChoice({ model, chosen, onChange }: ModelProps) {
  const { data: models = [] } = useQuery(modelNames)
  return (
    <Select
      className={css.modelChoice ?? ''}
      size="xs"
      w={190}
      aria-label="Model of this message"
      placeholder={model ?? 'Model'}
      data={models}
      value={chosen}
      onChange={onChange}
      searchable
      clearable
    />
  )
}

interface FilesProps {
  readonly files: readonly File[]
  readonly onRemove: (file: File) => void
}

function Files({ files, onRemove }: FilesProps) {
  if (files.length === 0) return null
  return (
    <ul className={css.files} aria-label="Attached files">
      {files.map(file => (
        <li key={`${file.name}:${file.size}:${file.lastModified}`} className={css.file}>
          <SafeText text={file.name} />
          <span className="soft numbers">{bytes(file.size)}</span>
          <CloseButton size="xs" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)} />
        </li>
      ))}
    </ul>
  )
}
