import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  test(`DD1: @anthropic-ai/sdk ${version}: open a stream, send, read until idle gives each turn its own answer`, async () => {
    const { beta } = new Anthropic({ baseURL: service.url, apiKey: service.key, maxRetries: 0 })
    const agent = await beta.agents.create({ name: 'Ada', model: 'scripted' })
    const environment = await beta.environments.create({ name: 'Here', config: { type: 'cloud' } })
    const session = await beta.sessions.create({ agent: agent.id, environment_id: environment.id })
    const turn = async (answer: string): Promise<string[]> => {
      const stream = await beta.sessions.events.stream(session.id)
      const content = [{ type: 'text' as const, text: saying({ text: answer }) }]
      await beta.sessions.events.send(session.id, { events: [{ type: 'user.message', content }] })
      const said: string[] = []
      for await (const event of stream) {
        if (event.type === 'agent.message')
          said.push(...event.content.map(block => ('text' in block ? block.text : '')))
        if (event.type === 'session.status_idle') break
      }
      return said
    }
    assert.deepEqual(await turn('First.'), ['First.'])
    assert.deepEqual(await turn('Second.'), ['Second.'])
    assert.deepEqual(await turn('Third.'), ['Third.'])
  })
}
