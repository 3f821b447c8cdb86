import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { useMayChange } from '../../../data/sign-in.tsx'
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
  readonly session: SessionSummary
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
  const mayChange = useMayChange()
  return (
    <header className={css.header}>
      <Crumbs session={session} />
      <div className={css.line}>
        <div className={css.first}>
          <TitleField sessionId={session.id} title={title} canEdit={mayChange && !isDeleted} />
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

/** The way back to the list, and to the session that called this one. */
function Crumbs({ session }: { readonly session: SessionSummary }) {
  const { parent_session_id: parentId } = session
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
