import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import { client } from '../../data/client.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { plural } from '../../parts/format.ts'
import { MayChange } from '../../parts/may-change.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { sessionsFile } from './sessions-file.ts'

interface Props {
  readonly rows: readonly SessionSummary[]
  readonly selected: ReadonlySet<string>
  readonly onDone: () => void
}

/** Stops, deletes or exports the selected sessions; without a selection, exports those that are loaded. */
export function ManyActions({ rows, selected, onDone }: Props) {
  const [question, setQuestion] = useState<'stop' | 'delete'>()
  const queries = useQueryClient()
  const chosen = rows.filter(({ id }) => selected.has(id))
  const what = plural(chosen.length, 'session')
  const close = () => setQuestion(undefined)
  const each = async (act: (id: string) => Promise<unknown>) => {
    for (const { id } of chosen) await act(id)
    await queries.invalidateQueries({ queryKey: ['sessions'] })
    onDone()
  }
  if (rows.length === 0) return null
  return (
    <>
      {chosen.length > 0 && (
        <MayChange>
          <Button variant="default" onClick={() => setQuestion('stop')}>
            Stop {what}
          </Button>
          <Button variant="default" c="var(--state-failed)" onClick={() => setQuestion('delete')}>
            Delete {what}
          </Button>
        </MayChange>
      )}
      <Button
        variant="subtle"
        onClick={() => saveFile('sessions.csv', sessionsFile(chosen.length > 0 ? chosen : rows), 'text/csv')}
      >
        Export CSV
      </Button>
      <Confirm
        isOpen={question === 'stop'}
        onClose={close}
        question={`Stop ${what}?`}
        consequence="Running prompts are interrupted, and queued prompts are cancelled. Logs and files stay."
        action={`Stop ${what}`}
        run={() => each(session_id => client.controls.stop({ body: { session_id, reason: 'stopped in the console' } }))}
      />
      <Confirm
        isOpen={question === 'delete'}
        onClose={close}
        question={`Delete ${what}?`}
        consequence="Running prompts are stopped and sandboxes removed. Logs and files are erased after 7 days."
        action={`Delete ${what}`}
        run={() => each(session_id => client.sessions.remove({ params: { session_id } }))}
      />
    </>
  )
}
