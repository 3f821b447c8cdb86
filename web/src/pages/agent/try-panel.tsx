import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { type KeyboardEvent, useRef, useState } from 'react'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { Elapsed } from '../../parts/figures.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './agent.module.css'
import { answerIn, failureIn } from './try-answer.ts'
import type { Editing } from './use-draft.ts'

interface Turn {
  readonly prompt: string
  readonly startedAt: number
  /** Undefined while the agent works. */
  readonly answer?: string
  /** Why the run failed, in words of the service. */
  readonly failure?: string | undefined
  /** True when the service did not answer, or with an error. */
  readonly isFailed?: boolean
}

interface Props {
  readonly editing: Editing
  readonly onClose: () => void
}

/** A session beside the settings. It runs the saved version; the page of the session shows every step. */
export function TryPanel({ editing: { agent, changes }, onClose }: Props) {
  const [sessionId, setSessionId] = useState<string>()
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)

  const finish = (turn: Partial<Turn>) =>
    setTurns(before => before.map((each, at) => (at === before.length - 1 ? { ...each, ...turn } : each)))

  const { send, isRunning, error, clear } = useSubmit(async () => {
    const prompt = text.trim()
    if (prompt === '') return
    try {
      const id =
        sessionId ?? (await client.sessions.create({ body: { agent_id: agent.id, title: titleOf(prompt) } })).id
      setSessionId(id)
      setText('')
      setTurns(before => [...before, { prompt, startedAt: Date.now() }])
      const message = await client.sessions.message({
        params: { session_id: id },
        body: { parts: [{ type: 'text', text: prompt }] },
      })
      finish({ answer: answerIn(message), failure: failureIn(message) })
    } catch (failure) {
      finish({ isFailed: true })
      throw failure
    } finally {
      field.current?.focus()
    }
  })

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void send()
  }

  return (
    <SidePanel
      title={`Try ${agent.name}`}
      onClose={onClose}
      actions={
        sessionId !== undefined && (
          <LinkButton variant="default" to="/console/sessions/$sessionId" params={{ sessionId }}>
            Open session
          </LinkButton>
        )
      }
    >
      <Stack gap="md">
        {changes.length > 0 && (
          <div className={css.conflict}>It runs the saved version {agent.version}, without your unsaved changes.</div>
        )}
        {agent.status !== 'active' && (
          <div className={css.conflict}>The agent is {agent.status} and accepts no new sessions.</div>
        )}
        {turns.length === 0 && (
          <Text size="sm" c="dimmed">
            Starts a session with version {agent.version}. It costs what any session costs.
          </Text>
        )}
        {turns.map(turn => (
          <TurnView key={turn.startedAt} turn={turn} />
        ))}
        <ProblemLine error={error} />
        <Textarea
          ref={field}
          label={turns.length === 0 ? 'First prompt' : 'Next prompt'}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={onKeyDown}
          autosize
          minRows={3}
          maxRows={12}
        />
        <Group gap="sm">
          <Button
            onClick={() => void send()}
            disabled={text.trim() === '' || agent.status !== 'active'}
            loading={isRunning}
          >
            {turns.length === 0 ? 'Start session' : 'Send prompt'}
          </Button>
          {turns.length > 0 && !isRunning && (
            <Button
              variant="default"
              onClick={() => {
                setSessionId(undefined)
                setTurns([])
                clear()
              }}
            >
              Start again
            </Button>
          )}
        </Group>
      </Stack>
    </SidePanel>
  )
}

const maxTitle = 80
const titleOf = (prompt: string): string => prompt.split('\n')[0]?.slice(0, maxTitle) ?? 'Try'

function TurnView({ turn: { prompt, startedAt, answer, failure, isFailed = false } }: { readonly turn: Turn }) {
  return (
    <div className={css.turn}>
      <b>
        <SafeText text={prompt} />
      </b>
      {answer !== undefined ? (
        <Answer text={answer} failure={failure} />
      ) : isFailed ? (
        <StatePill state="failed" word="failed" />
      ) : (
        <span>
          <StatePill state="running" word="working" /> <Elapsed since={startedAt} />
          <Text size="sm" c="dimmed">
            Open the session to see each step, and to approve calls.
          </Text>
        </span>
      )}
    </div>
  )
}

function Answer({ text, failure }: { readonly text: string; readonly failure: string | undefined }) {
  if (text === '' && failure === undefined) {
    return <span className="soft">No text. Open the session to see what it did.</span>
  }
  return (
    <>
      {text !== '' && <Markdown text={text} />}
      {failure !== undefined && (
        <div role="alert">
          <StatePill state="failed" word="failed" />
          <Text size="sm">
            <SafeText text={failure} />
          </Text>
        </div>
      )}
    </>
  )
}
