import { useQueryClient } from '@tanstack/react-query'
import { client } from '../../../data/client.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { sessionQuery } from '../queries.ts'

interface Props {
  readonly sessionId: string
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
}

interface InterruptProps extends Props {
  /** Prompts that wait behind the run. */
  readonly waiting: number
  /** The request to stop has been sent. */
  readonly onSent: () => void
}

export function InterruptDialog({ sessionId, title, isOpen, onClose, waiting, onSent }: InterruptProps) {
  const run = async () => {
    await client.sessions.interrupt({ params: { session_id: sessionId } })
    onSent()
  }
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      question={`Interrupt the run of “${title}”?`}
      consequence={`The model request and the tool calls that run are interrupted; their results are lost. ${
        waiting > 0
          ? `The ${waiting === 1 ? 'waiting prompt starts' : `${waiting} waiting prompts start`} next.`
          : 'The session stays open for further prompts.'
      }`}
      action="Interrupt run"
      run={run}
    />
  )
}

export function DeleteDialog({ sessionId, title, isOpen, onClose }: Props) {
  const queries = useQueryClient()
  const run = async () => {
    await client.sessions.remove({ params: { session_id: sessionId } })
    await queries.invalidateQueries({ queryKey: sessionQuery(sessionId).queryKey })
  }
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      question={`Delete session “${title}”?`}
      consequence="Its work stops, its sandbox and its files are removed, and the sessions of agents that it called are deleted with it. Its log stays readable until the end of the grace period (7 days by default), then it is erased."
      action="Delete session"
      run={run}
    />
  )
}
