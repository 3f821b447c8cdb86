import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Decision } from '../../../parts/approval-decision.tsx'
import { Arguments } from '../../../parts/arguments.tsx'
import { CodeBlock, JsonBlock } from '../../../parts/code.tsx'
import { DiffView } from '../../../parts/diff-view.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { TerminalText } from '../../../parts/terminal-text.tsx'
import { editsOf, type FileEdit } from '../../../session-log/file-edits.ts'
import type { Row } from '../../../session-log/rows.ts'
import { textOf } from '../../../session-log/tool-text.ts'
import type { ToolCall } from '../../../session-log/view.ts'
import { useViewer } from '../selection.ts'
import css from './transcript.module.css'

/** Arguments, decision, result and raw events of a tool call. */
export function ToolDetails({ row, call }: { readonly row: Row; readonly call: ToolCall }) {
  const [isRaw, setRaw] = useState(false)
  const { eventsOf } = useViewer()
  const { approval, result, startedThreadId } = call
  return (
    <div className={css.details}>
      <CallInput call={call} />
      {approval && approval.state !== 'pending' && (
        <Decision
          state={approval.state}
          by={approval.decidedBy}
          at={approval.decidedAt}
          message={approval.message}
          isEdited={approval.editedInput !== undefined}
        />
      )}
      {approval?.editedInput !== undefined && (
        <section aria-label="Arguments of the approver">
          <p className="soft">Ran with these arguments instead</p>
          <Arguments input={approval.editedInput} />
        </section>
      )}
      {call.state === 'outcome unknown' && (
        <p className={css.cause}>
          The service stopped while this call ran. It may have taken effect: check before you repeat it.
        </p>
      )}
      {startedThreadId !== undefined && (
        <Link className={css.link} to="/console/sessions/$sessionId" params={{ sessionId: startedThreadId }}>
          Open the session of the called agent
        </Link>
      )}
      {result && <Result call={call} text={textOf(result.content)} />}
      <div>
        <Button variant="subtle" size="compact-xs" onClick={() => setRaw(!isRaw)} aria-expanded={isRaw}>
          {isRaw ? 'Hide raw events' : 'Show raw events'}
        </Button>
      </div>
      {isRaw && eventsOf(row.eventIds).map(event => <JsonBlock key={event.id} value={event} what="event" />)}
    </div>
  )
}

/** Edits show as diffs, all else as arguments. */
export function CallInput({ call }: { readonly call: Pick<ToolCall, 'name' | 'server' | 'input'> }) {
  const edits = editsOf(call)
  if (edits.length === 0) return <Arguments input={call.input} />
  return <Diffs edits={edits} />
}

function Diffs({ edits }: { readonly edits: readonly FileEdit[] }) {
  const numbered = edits.map((edit, at) => ({ at, edit }))
  return numbered.map(({ at, edit }) => (
    <figure key={at} className={css.diff}>
      <figcaption className="mono">
        <SafeText text={edit.path} />
        {edit.before === undefined && <span className="soft"> whole file</span>}
        {edit.isForEachMatch && <span className="soft"> every occurrence</span>}
      </figcaption>
      <DiffView before={edit.before ?? ''} after={edit.after} label={`Changes of ${edit.path}`} />
    </figure>
  ))
}

function Result({ call, text }: { readonly call: ToolCall; readonly text: string }) {
  if (text === '') return <p className="soft">No output</p>
  return (
    <section aria-label={call.result?.isError ? 'Error of the tool' : 'Result'} data-error={call.result?.isError}>
      <CodeBlock text={text} what="result" render={shown => <TerminalText text={shown} />} />
    </section>
  )
}
