import type { AgentStatus } from '../../../src/contract/agents.ts'
import type { StateName } from '../theme.ts'
import { StatePill } from './state-pill.tsx'

const states: Readonly<Record<AgentStatus, StateName>> = { active: 'done', paused: 'waiting', archived: 'stopped' }

/** Whether an agent accepts new sessions. */
export function AgentState({ status }: { readonly status: AgentStatus }) {
  return <StatePill state={states[status]} word={status} />
}
