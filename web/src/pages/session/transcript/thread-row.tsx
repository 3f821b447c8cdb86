import { UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { Elapsed } from '../../../parts/figures.tsx'
import { duration, shortId } from '../../../parts/format.ts'
import { Markdown } from '../../../parts/markdown.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import type { Row } from '../../../session-log/rows.ts'
import { textOf } from '../../../session-log/tool-text.ts'
import type { Thread } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

const states: Readonly<Record<Thread['state'], readonly [StateName, string]>> = {
  running: ['running', 'running'],
  asking: ['attention', 'waits for an answer'],
  done: ['done', 'done'],
  failed: ['failed', 'failed'],
  terminated: ['stopped', 'terminated'],
}

interface Props {
  readonly row: Row
  readonly thread: Thread
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** A session that the agent has called: its state, a link to its transcript, and what was said. */
export function ThreadRow({ row, thread, isOpen, onToggle }: Props) {
  const { agentName, sessionId, state, messages } = thread
  const [name, word] = states[state]
  return (
    <RowFrame row={row} label={<span className={css.model}>AGENT</span>} aside={<Worked thread={thread} />}>
      <div className={css.thread}>
        <UnstyledButton
          className={css.chevron ?? ''}
          aria-expanded={isOpen}
          aria-label={isOpen ? 'Fold messages' : 'Unfold messages'}
          onClick={onToggle}
        >
          {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        </UnstyledButton>
        <Link to="/console/sessions/$sessionId" params={{ sessionId }} className={`${css.link} clip`}>
          <SafeText text={agentName ?? shortId(sessionId)} />
        </Link>
        <StatePill state={name} word={word} />
      </div>
      {isOpen &&
        messages.map(({ eventId, direction, content, isError }) => (
          <div key={eventId} className={css.message} data-error={isError || undefined}>
            <span className="soft">{direction === 'sent' ? 'Task' : isError ? 'No answer' : 'Answer'}</span>
            <Markdown text={textOf(content)} />
          </div>
        ))}
    </RowFrame>
  )
}

function Worked({ thread: { periods } }: { readonly thread: Thread }) {
  const open = periods.find(({ to }) => to === undefined)
  if (open) return <Elapsed since={open.from} />
  const ms = periods.reduce((sum, { from, to }) => sum + Date.parse(to ?? from) - Date.parse(from), 0)
  return <span className="numbers">{duration(ms)}</span>
}
