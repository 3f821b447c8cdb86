import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ManagedSession } from '../../../../../src/contract/sessions.ts'
import { shortId } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import type { Status } from '../../../session-log/status.ts'
import { sessionQuery } from '../queries.ts'
import { Actions, type Dialog } from './actions.tsx'
import { Facts } from './facts.tsx'
import css from './header.module.css'
import { StatusLine } from './status-line.tsx'
import { TitleField } from './title-field.tsx'

interface Props {
  readonly session: ManagedSession
  readonly title: string
  readonly status: Status
  readonly model: string | undefined
  readonly isDeleted: boolean
  readonly onOpen: (dialog: Dialog) => void
  readonly onInspector: () => void
}

const interruptible: ReadonlySet<Status['word']> = new Set<Status['word']>([
  'starting runtime',
  'model thinking',
  'tool running',
  'waiting for approval',
  'waiting for custom tool',
  'waiting for subagent',
  'retrying',
])

export const canInterrupt = ({ word }: Status): boolean => interruptible.has(word)

/** What the session is, what it does now, what it costs, and what can be done with it. */
export function SessionHeader({ session, title, status, model, isDeleted, onOpen, onInspector }: Props) {
  return (
    <header className={css.header}>
      <Crumbs session={session} />
      <div className={css.line}>
        <div className={css.first}>
          <TitleField sessionId={session.id} title={title} canEdit={!isDeleted} />
          <StatusLine status={status} />
        </div>
        <div className={css.actions}>
          <Actions
            sessionId={session.id}
            title={title}
            canInterrupt={canInterrupt(status)}
            isDeleted={isDeleted}
            onOpen={onOpen}
            onInspector={onInspector}
          />
        </div>
      </div>
      <Facts session={session} model={model} />
    </header>
  )
}

/** The way back to the list, to the session that called this one, and to the one that it was forked from. */
function Crumbs({ session }: { readonly session: ManagedSession }) {
  const { parent_session_id: parentId, forked_from: fork } = session
  return (
    <nav className={css.crumbs} aria-label="Where this session belongs">
      <Link to="/console/sessions">Sessions</Link>
      {parentId !== null && (
        <>
          <span aria-hidden>/</span>
          <SessionLink id={parentId} />
          <span>called this session</span>
        </>
      )}
      {fork && (
        <>
          <span aria-hidden>/</span>
          <span>forked from</span>
          <SessionLink id={fork.session_id} />
          <span className="numbers">after event {fork.seq}</span>
        </>
      )}
    </nav>
  )
}

function SessionLink({ id }: { readonly id: string }) {
  const { data } = useQuery(sessionQuery(id))
  return (
    <Link to="/console/sessions/$sessionId" params={{ sessionId: id }} className="clip">
      <SafeText text={data?.title || shortId(id)} />
    </Link>
  )
}
