import { UnstyledButton } from '@mantine/core'
import { IconAlertTriangle, IconFile, IconGitFork, IconInfoCircle, IconPlayerStop } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { JsonBlock } from '../../../parts/code.tsx'
import { Time } from '../../../parts/figures.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { adviceFor } from '../../../session-log/failure-advice.ts'
import { noteText } from '../../../session-log/notes.ts'
import type { Row } from '../../../session-log/rows.ts'
import type { Note } from '../../../session-log/view.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

interface Props {
  readonly row: Row
  readonly note: Note
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** Any other event: warnings, failed tries, compactions, changed files, forks, unknown types. It opens to its raw form. */
export function NoteRow({ row, note, isOpen, onToggle }: Props) {
  const { label, text, tone } = noteText(note)
  const { event } = note
  return (
    <RowFrame row={row} aside={<Time at={note.at} />}>
      <div className={css.note} data-tone={tone}>
        <NoteIcon type={event.type} tone={tone} />
        <UnstyledButton className={css.noteButton ?? ''} aria-expanded={isOpen} onClick={onToggle}>
          <span className={css.noteLabel}>{label}</span>
          {text !== '' && (
            <span className={css.noteText}>
              <SafeText text={text} />
            </span>
          )}
        </UnstyledButton>
      </div>
      {event.type === 'session.error' && tone === 'error' && <p className="soft">{adviceFor(event.error.type)}</p>}
      {event.type === 'session.warning' && event.warning.files && (
        <ul className={css.warned}>
          {event.warning.files.map(({ path, reason }) => (
            <li key={path}>
              <SafeText text={`${path}: ${reason}`} />
            </li>
          ))}
        </ul>
      )}
      {event.type === 'session.forked' && (
        <Link
          className={css.link}
          to="/console/sessions/$sessionId"
          params={{ sessionId: event.forked_from.session_id }}
        >
          Open the original session
        </Link>
      )}
      {isOpen && event.type === 'agent.thread_context_compacted' && event.summary !== undefined && (
        <p className={css.thought}>
          <SafeText text={event.summary} />
        </p>
      )}
      {isOpen && <JsonBlock value={event} what="event" />}
    </RowFrame>
  )
}

function NoteIcon({ type, tone }: { readonly type: string; readonly tone: string }) {
  if (tone !== 'info' && type !== 'user.interrupt') return <IconAlertTriangle size={14} aria-hidden />
  if (type === 'user.interrupt') return <IconPlayerStop size={14} aria-hidden />
  if (type === 'session.files_changed') return <IconFile size={14} aria-hidden />
  if (type === 'session.forked') return <IconGitFork size={14} aria-hidden />
  return <IconInfoCircle size={14} aria-hidden />
}
