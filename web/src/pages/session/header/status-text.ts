import { money, plural } from '../../../parts/format.ts'
import type { Status } from '../../../session-log/status.ts'
import { callTitle } from '../../../session-log/tool-text.ts'
import type { ToolCall } from '../../../session-log/view.ts'
import type { StateName } from '../../../theme.ts'

interface StatusText {
  readonly state: StateName
  readonly word: string
  readonly detail: string | undefined
}

/** Returns how to show a status: its state, its word and what it is about. */
export function statusText(status: Status): StatusText {
  const { word } = status
  return { state: states[word], word, detail: detailOf(status) }
}

const states: Readonly<Record<Status['word'], StateName>> = {
  queued: 'waiting',
  'starting runtime': 'running',
  'model thinking': 'running',
  'tool running': 'running',
  'waiting for approval': 'attention',
  'waiting for custom tool': 'attention',
  'waiting for subagent': 'running',
  retrying: 'waiting',
  'paused: budget': 'waiting',
  stopping: 'waiting',
  idle: 'done',
  stopped: 'stopped',
  failed: 'failed',
}

const titles = (calls: readonly ToolCall[]): string | undefined => {
  const [first] = calls
  if (!first) return undefined
  return calls.length === 1 ? callTitle(first) : `${callTitle(first)} and ${plural(calls.length - 1, 'other call')}`
}

const phases: Readonly<Record<string, string>> = {
  'session.repository_ready': 'repository ready',
  'session.workspace_restored': 'workspace restored',
}

function detailOf(status: Status): string | undefined {
  switch (status.word) {
    case 'queued':
      return status.count > 1 ? `${status.count} prompts wait` : `position ${status.position}`
    case 'starting runtime':
      return status.phase === undefined ? undefined : (phases[status.phase] ?? status.phase)
    case 'model thinking':
      return status.isCompaction ? `compaction · ${status.model ?? ''}` : status.model
    case 'tool running':
      return status.count > 1 ? titles([status.call])?.concat(` and ${status.count - 1} more`) : titles([status.call])
    case 'waiting for approval':
    case 'waiting for custom tool':
    case 'waiting for subagent':
      return titles(status.calls)
    case 'retrying':
      return status.attempt === undefined ? status.message : `try ${status.attempt} · ${status.message}`
    case 'paused: budget':
      return budgetText(status)
    case 'stopping':
    case 'idle':
      return undefined
    case 'stopped':
      return status.reason
    case 'failed':
      return status.cause
  }
}

function budgetText({ budget, message }: Extract<Status, { word: 'paused: budget' }>): string | undefined {
  if (!budget) return message
  if (budget.is_frozen) return `spending of this ${budget.scope} is frozen`
  return `the ${budget.scope} has reached its limit of ${money(budget.max_usd)}`
}
