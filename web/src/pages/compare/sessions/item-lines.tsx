import { UnstyledButton } from '@mantine/core'
import { IconCheck, IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Arguments } from '../../../parts/arguments.tsx'
import { CodeBlock } from '../../../parts/code.tsx'
import { duration, shortId } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TerminalText } from '../../../parts/terminal-text.tsx'
import { callDurationMs, callTitle, textOf } from '../../../session-log/tool-text.ts'
import type { CallState, ThinkingItem, Thread, ToolCall } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import css from '../compare.module.css'

interface FoldProps {
  readonly head: ReactNode
  readonly children: ReactNode
}

/** A line that unfolds its details. */
function Fold({ head, children }: FoldProps) {
  const [isOpen, setOpen] = useState(false)
  const Chevron = isOpen ? IconChevronDown : IconChevronRight
  return (
    <>
      <UnstyledButton className={css.line} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Chevron size={14} aria-hidden />
        {head}
      </UnstyledButton>
      {isOpen && <div className={css.details}>{children}</div>}
    </>
  )
}

const failedStates: Readonly<Partial<Record<CallState, StateName>>> = {
  failed: 'failed',
  'outcome unknown': 'failed',
  denied: 'stopped',
  expired: 'stopped',
  stopped: 'stopped',
}

/** A tool call on one line, with its arguments and its result. */
export function ToolLine({ call }: { readonly call: ToolCall }) {
  const { state, result, approval, input } = call
  const ms = callDurationMs(call)
  const head = (
    <>
      <span className="mono clip">
        <SafeText text={callTitle(call)} />
      </span>
      {state === 'done' ? (
        <IconCheck size={14} aria-label="done" />
      ) : (
        <StatePill state={failedStates[state] ?? 'running'} word={state} />
      )}
      {ms !== undefined && <span className={`${css.aside} soft numbers`}>{duration(ms)}</span>}
    </>
  )
  return (
    <Fold head={head}>
      <Arguments input={approval?.editedInput ?? input} maxLines={20} />
      {result && (
        <CodeBlock text={textOf(result.content)} what="result" render={shown => <TerminalText text={shown} />} />
      )}
    </Fold>
  )
}

/** What the model thought, folded. */
export function ThinkingLine({ item: { text } }: { readonly item: ThinkingItem }) {
  if (text === '') return null
  return (
    <Fold head={<span className="soft">Thinking</span>}>
      <CodeBlock text={text} what="thinking" />
    </Fold>
  )
}

/** A session that the agent has called. */
export function ThreadLine({ thread: { sessionId, agentName, state } }: { readonly thread: Thread }) {
  return (
    <div className={css.line}>
      <Link to="/console/sessions/$sessionId" params={{ sessionId }} className="clip">
        <SafeText text={agentName ?? shortId(sessionId)} />
      </Link>
      <span className="soft">{state}</span>
    </div>
  )
}
