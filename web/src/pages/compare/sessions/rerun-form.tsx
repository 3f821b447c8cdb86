import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import { logQuery, summaryQuery } from '../queries.ts'
import { promptTurns } from './parting.ts'
import { RerunFields } from './rerun-fields.tsx'

interface Props {
  readonly sessionId: string
  readonly onClose: () => void
  readonly onStarted: (sessionId: string) => void
}

/** Runs a prompt of a session again in a fork, with another model or another version of the agent. */
export function RerunForm({ sessionId, onClose, onStarted }: Props) {
  const session = useQuery(summaryQuery(sessionId))
  const log = useQuery(logQuery(sessionId))
  const error = session.error ?? log.error
  return (
    <Modal opened onClose={onClose} title="Re-run a prompt">
      {session.data && log.data ? (
        <RerunFields
          session={session.data}
          prompts={promptTurns(log.data, 0).flatMap(({ prompt }) => (prompt?.kind === 'message' ? [prompt] : []))}
          onClose={onClose}
          onStarted={onStarted}
        />
      ) : error ? (
        <ProblemBlock error={error} what="load the session" />
      ) : (
        <Loading />
      )}
    </Modal>
  )
}
