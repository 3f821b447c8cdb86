import { useQuery } from '@tanstack/react-query'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import type { View } from '../../session-log/view.ts'
import { agentQuery } from './queries.ts'

/** Returns the model of the last prompt, else that of the agent. */
export function useModel(session: SessionSummary, view: View): string | undefined {
  const last = lastModel(view) ?? session.model ?? undefined
  const { data: agent } = useQuery({ ...agentQuery(session.agent_id), enabled: last === undefined })
  return last ?? agent?.model
}

function lastModel({ turns }: View): string | undefined {
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const turn = turns[at]
    const model = turn?.prompt?.model ?? turn?.groups.findLast(group => group.model !== undefined)?.model
    if (model !== undefined) return model
  }
  return undefined
}
