import type { SessionEvent } from '../../../src/contract/events.ts'
import { send, type Target } from '../service/send.ts'
import type { Answer } from '../upstream/scripted-answer.ts'
import { saying } from '../upstream/scripted-service.ts'

export type ToolCall = NonNullable<Answer['tool_calls']>[number]

/** A session whose model makes the scripted tool calls. */
export interface ToolSession {
  readonly id: string
  /** Makes the calls in one turn. The texts of their results, in the order of the calls. */
  run(...calls: readonly Omit<ToolCall, 'id'>[]): Promise<string[]>
}

/** `target` is a service whose model is the scripted one. */
export async function toolSession(target: Target): Promise<ToolSession> {
  const { id } = (await send(target, 'POST /session', { body: {} })).json<{ id: string }>()
  let runs = 0
  return {
    id,
    async run(...calls) {
      const turn = ++runs
      const tool_calls = calls.map((call, at) => ({ ...call, id: `toolu_${turn}_${at}` }))
      const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: saying({ tool_calls }, {}) }] }
      const { status, text } = await send(target, `POST /session/${id}/message`, { body })
      if (status !== 200) throw new Error(`the prompt was answered ${status}: ${text}`)
      const page = await send(target, `GET /v1/sessions/${id}/events?order=desc&limit=200&types=agent.tool_result`)
      const results = page.json<{ data: SessionEvent[] }>().data
      return tool_calls.map(call => {
        const { content } = (results.find(event => event.tool_use_id === call.id) ?? {}) as Partial<SessionEvent>
        return Array.isArray(content) ? content.map(block => String((block as { text?: unknown }).text)).join('') : ''
      })
    },
  }
}
