import { Button, Checkbox, Group, Textarea } from '@mantine/core'
import { IconPlugConnected } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { client } from '../../../data/client.ts'
import { Arguments } from '../../../parts/arguments.tsx'
import { MayChange } from '../../../parts/may-change.tsx'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { expiryOf } from '../../../session-log/status.ts'
import { toolName } from '../../../session-log/tool-text.ts'
import type { ToolCall } from '../../../session-log/view.ts'
import { Countdown } from '../header/status-line.tsx'
import css from './transcript.module.css'

/** A call whose tool runs outside the service: what it needs, and a form that answers it. */
export function PendingCustomTool({ call }: { readonly call: ToolCall }) {
  return (
    <section className={css.answer} aria-label={`Call of ${call.name}`}>
      <div className={css.answerHead}>
        <IconPlugConnected size={16} aria-hidden />
        <b>Answer needed</b>
        <span className="mono">
          <SafeText text={toolName(call)} />
        </span>
        <span className={css.answerExpiry}>
          <Countdown to={expiryOf(call)} before="fails in" />
        </span>
      </div>
      <p className="soft">
        A program outside the service runs this tool.
        <MayChange> You can answer in its place.</MayChange>
      </p>
      <Arguments input={call.input} maxLines={200} />
      <MayChange>
        <AnswerForm call={call} />
      </MayChange>
    </section>
  )
}

/** The result of a call as text or JSON, or its error. */
function AnswerForm({ call }: { readonly call: ToolCall }) {
  const [text, setText] = useState('')
  const [isError, setError] = useState(false)
  const answer = useMutation({
    mutationFn: () =>
      client.customTools.answer({
        params: { custom_tool_use_id: call.key },
        body: { content: text === '' ? [] : [{ type: 'text', text }], ...(isError && { is_error: true }) },
      }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    answer.mutate()
  }
  const jsonError = looksLikeJson(text) ? jsonProblem(text) : undefined
  return (
    <form className={css.answerForm} onSubmit={submit} aria-label={`Answer of ${call.name}`}>
      <Textarea
        label="Result"
        description={jsonError ?? 'Text or JSON, as the model should read it'}
        value={text}
        maxLength={262_144}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        autosize
        minRows={2}
        maxRows={16}
        spellCheck={false}
      />
      <Checkbox
        label="The call failed: the result is its error"
        checked={isError}
        onChange={({ currentTarget }) => setError(currentTarget.checked)}
      />
      <ProblemLine error={answer.error} />
      <Group>
        <Button type="submit" loading={answer.isPending} disabled={answer.isSuccess}>
          {isError ? 'Send error' : 'Send result'}
        </Button>
      </Group>
    </form>
  )
}

const looksLikeJson = (text: string): boolean => /^\s*[[{]/.test(text)

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return 'This starts like JSON but is not; it is sent as text'
  }
}
