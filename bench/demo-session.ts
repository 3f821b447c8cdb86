import { type Answered, send, type Target } from '../test/support/service/send.ts'

/** What a prompt asks of the demo model: an answer in text, or one that takes a tool call. */
export type Task = 'text' | 'tool'

/** An agent on the demo model; that for text has no tools, since the model uses what it has. Its id. */
export async function createAgent(target: Target, task: Task): Promise<string> {
  const tools = [{ type: 'agent_toolset_20260401', default_config: { enabled: task === 'tool' } }]
  const body = { name: `bench ${task}`, owner_id: 'bench', model: 'demo', tools }
  return (await succeeded(target, 'POST /api/agents', body)).json<{ id: string }>().id
}

/** A session of that agent. Its id. */
export const createSession = async (target: Target, agentId: string): Promise<string> =>
  (await succeeded(target, 'POST /session', { agent_id: agentId })).json<{ id: string }>().id

/** Queues a prompt; resolves with the 204. */
export async function sendPrompt(target: Target, sessionId: string, text: string, model = 'demo'): Promise<void> {
  const body = { model: { modelID: model }, parts: [{ type: 'text', text }] }
  await succeeded(target, `POST /session/${sessionId}/prompt_async`, body)
}

/** The answer to a request, which must succeed. */
export async function succeeded(target: Target, line: string, body?: object): Promise<Answered> {
  const answer = await send(target, line, body && { body })
  if (answer.status >= 300) throw new Error(`${line} answered ${answer.status}: ${answer.text}`)
  return answer
}
