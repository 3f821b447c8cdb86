import { UnstyledButton } from '@mantine/core'
import { IconCheck, IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { Elapsed } from '../../../parts/figures.tsx'
import { duration, plural } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import type { Row } from '../../../session-log/rows.ts'
import { callDurationMs, exitCode, firstArgument, lineCount, textOf, toolName } from '../../../session-log/tool-text.ts'
import type { CallState, ToolCall } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'
import { editSummary } from './edit-summary.ts'
import { PendingApproval } from './pending-approval.tsx'
import { PendingCustomTool } from './pending-custom-tool.tsx'
import { RowFrame } from './row-frame.tsx'
import { ToolDetails } from './tool-details.tsx'
import css from './transcript.module.css'

interface Props {
  readonly row: Row
  readonly call: ToolCall
  readonly isOpen: boolean
  readonly onToggle: () => void
}

const states: Readonly<Record<CallState, StateName>> = {
  running: 'running',
  'waiting for approval': 'attention',
  'waiting for client': 'attention',
  'waiting for subagent': 'running',
  done: 'done',
  failed: 'failed',
  denied: 'stopped',
  expired: 'waiting',
  stopped: 'stopped',
  'outcome unknown': 'waiting',
}

/** A tool call on one line: name, first argument, state, duration. It opens to its arguments, result and raw events. */
export function ToolRow({ row, call, isOpen, onToggle }: Props) {
  const isAsking = call.state === 'waiting for approval'
  return (
    <RowFrame row={row} aside={<Figures call={call} />}>
      <UnstyledButton className={css.tool ?? ''} data-state={call.state} aria-expanded={isOpen} onClick={onToggle}>
        {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        <span className={css.toolName}>
          <SafeText text={toolName(call)} />
        </span>
        <span className={`${css.argument} clip`}>
          <SafeText text={firstArgument(call.approval?.editedInput ?? call.input)} />
        </span>
        {call.approval?.editedInput !== undefined && <span className="soft">changed by the approver</span>}
        {call.threadId !== undefined && <span className="soft">of a called agent</span>}
        <EditSummary call={call} />
        <State call={call} />
      </UnstyledButton>
      {isAsking && <PendingApproval call={call} />}
      {call.state === 'waiting for client' && <PendingCustomTool call={call} />}
      {isOpen && <ToolDetails row={row} call={call} />}
    </RowFrame>
  )
}

function EditSummary({ call }: { readonly call: ToolCall }) {
  const summary = editSummary(call)
  if (!summary) return null
  return (
    <span className="numbers">
      <span className={css.plus}>+{summary.added}</span> <span className={css.minus}>−{summary.removed}</span>
    </span>
  )
}

/** A finished call needs no word, unless something is special about it. */
function State({ call }: { readonly call: ToolCall }) {
  const { state } = call
  const code = exitCode(call)
  if (state === 'failed' && code !== undefined) return <StatePill state="failed" word={`exit ${code}`} />
  if (state === 'done') return <IconCheck size={14} aria-label="done" />
  return <StatePill state={states[state]} word={state} />
}

function Figures({ call }: { readonly call: ToolCall }) {
  const ms = callDurationMs(call)
  const lines = call.result ? lineCount(textOf(call.result.content)) : 0
  return (
    <span className={css.figures}>
      {lines > 1 && <span className="numbers">{plural(lines, 'line')}</span>}
      {ms !== undefined && call.threadId === undefined && <span className="numbers">{duration(ms)}</span>}
      {ms === undefined && <Elapsed since={call.approval?.decidedAt ?? call.at} />}
    </span>
  )
}
