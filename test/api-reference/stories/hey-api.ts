// The tutorial's story through a client that @hey-api/openapi-ts generated: an agent answers a webhook and remembers.
import { createClient } from './generated/hey-api/client/index.ts'
import * as api from './generated/hey-api/sdk.gen.ts'
import type { Agent, Memory, SessionEvent, WebhookAcceptance } from './generated/hey-api/types.gen.ts'

/** Runs the story. Returns the last text of the agent and the texts of its memories. */
export async function run(url: string, key: string): Promise<{ text: string; memories: string[] }> {
  const client = createClient({ baseUrl: url, headers: { authorization: `Bearer ${key}` } })
  const options = { client, throwOnError: true } as const

  const made = await api.agentsCreate({ ...options, body: { name: 'Triage', owner_id: 'hey-api', model: 'demo' } })
  const agent: Agent = made.data
  const path = { agent_id: agent.id }
  await api.vaultSet({ ...options, body: { key: `WEBHOOK_${agent.id}_SECRET`, value: 'token-of-the-sender-1' } })
  await api.memoriesCreate({ ...options, path, body: { text: 'Deploy on Tuesdays', tags: ['team'] } })

  const received = await api.webhooksReceive({
    ...options,
    path,
    headers: { authorization: 'Bearer token-of-the-sender-1' },
    body: { title: 'The build is red' },
  })
  if ('challenge' in received.data) throw new Error('the payload is no question of Slack')
  const acceptance: WebhookAcceptance = received.data
  const text = await answerOf(acceptance.session_id ?? '', options)
  const found = await api.memoriesList({ ...options, path })
  const memories: Memory[] = found.data
  return { text, memories: memories.map(memory => memory.text) }
}

async function answerOf(session_id: string, options: { client: ReturnType<typeof createClient>; throwOnError: true }) {
  let after = 0
  let text = ''
  for (;;) {
    const page = await api.eventsList({ ...options, path: { session_id }, query: { after: String(after), wait: 20 } })
    const events: SessionEvent[] = page.data.data
    for (const event of events) {
      after = event.seq
      if (event.type === 'agent.message') text = event.content.map(block => String(block['text'] ?? '')).join('')
      if (event.type === 'session.error') throw new Error(event.error.message)
      if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') return text
    }
  }
}
