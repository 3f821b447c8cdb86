import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Anthropic as Anthropic1 } from '@anthropic-ai/sdk'
import { Anthropic as Anthropic0 } from '@anthropic-ai/sdk-0'
import { startManagedAgentsFake } from './managed-agents-fake.ts'

const fake = await startManagedAgentsFake({
  pageSize: 3,
  script: () => [
    { use: 'bash', input: { command: 'ls' }, result: 'a.txt', ask: true },
    { say: 'One file.', pieces: ['One ', 'file.'] },
  ],
})
after(() => fake.stop())

const clients = [
  ['0.x', new Anthropic0({ apiKey: fake.apiKey, baseURL: fake.url, maxRetries: 0 })],
  ['1.x', new Anthropic1({ apiKey: fake.apiKey, baseURL: fake.url, maxRetries: 0 }) as unknown as Anthropic0],
] as const

for (const [major, client] of clients) {
  test(`SDK ${major}: makes a session, follows a turn with an approval and previews, pages the list, deletes`, async () => {
    const { beta } = client
    const agent = await beta.agents.create({
      name: 'A',
      model: 'claude-fake-1',
      tools: [{ type: 'agent_toolset_20260401' }],
    })
    const environment = await beta.environments.create({ name: 'E', config: { type: 'cloud' } })
    const session = await beta.sessions.create({ agent: agent.id, environment_id: environment.id })
    const stream = await beta.sessions.events.stream(session.id, { event_deltas: ['agent.message'] })
    const [sent] =
      (
        await beta.sessions.events.send(session.id, {
          events: [{ type: 'user.message', content: [{ type: 'text', text: 'List' }] }],
        })
      ).data ?? []

    const types: string[] = []
    const sentTimes: unknown[] = []
    let shown = ''
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'user.message' && event.id === sent?.id) sentTimes.push(event.processed_at)
      if (event.type === 'event_delta') shown += event.delta.content.text
      if (event.type !== 'session.status_idle') continue
      if (event.stop_reason.type !== 'requires_action') break
      const [tool_use_id = ''] = event.stop_reason.event_ids
      await beta.sessions.events.send(session.id, {
        events: [{ type: 'user.tool_confirmation', tool_use_id, result: 'allow' }],
      })
    }
    assert.equal(shown, 'One file.')
    assert.equal(sentTimes[0], null)
    assert.ok(sentTimes[1])
    assert.deepEqual(
      types.filter(type => !type.startsWith('event_')),
      [
        'user.message',
        'user.message',
        'session.status_running',
        'agent.tool_use',
        'session.status_idle',
        'user.tool_confirmation',
        'session.status_running',
        'agent.tool_result',
        'span.model_request_start',
        'agent.message',
        'span.model_request_end',
        'session.status_idle',
      ],
    )

    const listed: string[] = []
    for await (const event of beta.sessions.events.list(session.id)) listed.push(event.type)
    assert.deepEqual(listed, types.filter(type => !type.startsWith('event_')).slice(1))
    assert.equal((await beta.sessions.delete(session.id)).type, 'session_deleted')
    assert.ok((await beta.agents.archive(agent.id)).archived_at)
    await assert.rejects(beta.sessions.events.send(session.id, { events: [{ type: 'user.interrupt' }] }), {
      status: 404,
    })
  })

  test(`SDK ${major}: a wrong key is rejected`, async () => {
    const wrong = client.withOptions({ apiKey: 'sk-wrong' })
    await assert.rejects(wrong.beta.agents.create({ name: 'A', model: 'm' }), { status: 401 })
  })
}
