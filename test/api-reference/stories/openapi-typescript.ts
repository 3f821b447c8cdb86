// The tutorial's story with the types of openapi-typescript: an agent answers a webhook and remembers.
import createClient from 'openapi-fetch'
import type { components, paths } from './generated/openapi-typescript.d.ts'

type Agent = components['schemas']['Agent']
type Memory = components['schemas']['Memory']
type SessionEvent = components['schemas']['SessionEvent']

/** Runs the story. Returns the last text of the agent and the texts of its memories. */
export async function run(url: string, key: string): Promise<{ text: string; memories: string[] }> {
  const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } })

  const agent: Agent = expect(
    await client.POST('/api/agents', { body: { name: 'Triage', owner_id: 'openapi-typescript', model: 'demo' } }),
  )
  const path = { agent_id: agent.id }
  expect(
    await client.POST('/api/vault', { body: { key: `WEBHOOK_${agent.id}_SECRET`, value: 'token-of-the-sender-2' } }),
  )
  const memoryPath = '/api/v1/managed_agents/agents/{agent_id}/memory'
  expect(await client.POST(memoryPath, { params: { path }, body: { text: 'Deploy on Tuesdays', tags: ['team'] } }))

  const received = expect(
    await client.POST('/api/agents/{agent_id}/webhook', {
      params: { path },
      headers: { authorization: 'Bearer token-of-the-sender-2' },
      body: { title: 'The build is red' },
    }),
  )
  if ('challenge' in received) throw new Error('the payload is no question of Slack')
  const text = await answerOf(received.session_id ?? '')
  const memories: Memory[] = expect(await client.GET(memoryPath, { params: { path } }))
  return { text, memories: memories.map(memory => memory.text) }

  async function answerOf(id: string): Promise<string> {
    let after = 0
    let last = ''
    for (;;) {
      const page = expect(
        await client.GET('/v1/sessions/{session_id}/events', {
          params: { path: { session_id: id }, query: { after: String(after), wait: 20 } },
        }),
      )
      const events: SessionEvent[] = page.data
      after = events.at(-1)?.seq ?? after
      const failed = events.find(event => event.type === 'session.error')
      if (failed) throw new Error(failed.error.message)
      const said = events.findLast(event => event.type === 'agent.message')
      if (said) last = said.content.map(block => String(block['text'] ?? '')).join('')
      if (events.some(event => event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn'))
        return last
    }
  }
}

/** The data of an answer; throws its error. */
function expect<T>({ data, error, response }: { data?: T; error?: unknown; response: Response }): T {
  if (data === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`)
  return data
}
