import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import type { View } from '../../session-log/view.ts'
import { agentQuery } from './queries.ts'

interface SessionModel {
  /** Undefined while the agent is loaded. */
  readonly model: string | undefined
  /** Waits for the agent if need be. */
  readonly loadModel: () => Promise<string>
}

/** Returns the model of the last prompt, else that of the agent. */
export function useModel(session: SessionSummary, view: View): SessionModel {
  const queries = useQueryClient()
  const last = lastModel(view) ?? session.model ?? undefined
  const query = agentQuery(session.agent_id)
  const { data: agent } = useQuery({ ...query, enabled: last === undefined })
  return {
    model: last ?? agent?.model,
    loadModel: async () => last ?? (await queries.ensureQueryData(query)).model,
  }
}

function lastModel({ turns }: View): string | undefined {
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const turn = turns[at]
    const model = turn?.prompt?.model ?? turn?.groups.findLast(group => group.model !== undefined)?.model
    if (model !== undefined) return model
  }
  return undefined
}
