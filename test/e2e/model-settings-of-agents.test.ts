import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const { service, upstreams } = await startEveryProtocol()
const own = { name: 'Ada', owner_id: 'team' }

async function agentWith(config: object) {
  const answer = await send(service, 'POST /api/agents', { body: { ...own, config } })
  assert.ok(answer.status < 300, answer.text)
  return answer
}

/** What the upstream of a protocol receives for a prompt of an agent with these settings. */
async function sentWith(protocol: SpokenProtocol, model_settings: object): Promise<string> {
  const { id: agent_id } = (await agentWith({ model_settings })).json<Agent>()
  const session = (await send(service, 'POST /session', { body: { agent_id } })).json<Session>()
  const body = { model: { modelID: aliasOf(protocol) }, parts: [{ type: 'text', text: saying({ text: 'Done.' }) }] }
  const answer = await send(service, `POST /session/${session.id}/message`, { body })
  assert.equal(answer.status, 200, answer.text)
  return upstreams[protocol].requests.at(-1)?.rawBody.toString() ?? assert.fail('the upstream was called')
}

/** How each protocol names the limit of an answer and its thinking. */
const limits: Readonly<Record<SpokenProtocol, RegExp>> = {
  'anthropic-messages': /"max_tokens":777\b/,
  'openai-chat': /"max_(completion_)?tokens":777\b/,
  'openai-responses': /"max_output_tokens":777\b/,
  gemini: /"maxOutputTokens":777\b/,
  'bedrock-converse': /"maxTokens":777\b/,
}

for (const protocol of everyProtocol) {
  test(`model_settings of an agent reach ${protocol}`, async () => {
    assert.match(await sentWith(protocol, { max_tokens: 777 }), limits[protocol])
  })
}

test('model_settings of an agent reach Messages in its own format', async () => {
  const sent = await sentWith('anthropic-messages', {
    effort: 'low',
    thinking: { type: 'adaptive' },
    max_tokens: 900,
    fallbacks: [aliasOf('gemini')],
  })
  const body = JSON.parse(sent) as Record<string, unknown>
  assert.deepEqual(
    [body['output_config'], body['thinking'], body['max_tokens']],
    [{ effort: 'low' }, { type: 'adaptive' }, 900],
  )
})

test('fallbacks of model_settings serve a call whose model fails', async () => {
  const failed = saying(
    {
      status: 400,
      body: JSON.stringify({
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 300000 tokens > 200000 maximum' },
      }),
    },
    { text: 'From the other one.' },
  )
  const { id: agent_id } = (await agentWith({ model_settings: { fallbacks: [aliasOf('gemini')] } })).json<Agent>()
  const session = (await send(service, 'POST /session', { body: { agent_id } })).json<Session>()
  const before = upstreams.gemini.requests.length
  const body = { model: { modelID: aliasOf('anthropic-messages') }, parts: [{ type: 'text', text: failed }] }
  await send(service, `POST /session/${session.id}/message`, { body })
  assert.equal(upstreams.gemini.requests.length, before + 1)
})

const wrong: readonly (readonly [unknown, RegExp])[] = [
  ['fast', /^config\.model_settings must be an object/],
  [{ effort: 'huge' }, /^config\.model_settings\.effort must be one of low/],
  [{ thinking: 'on' }, /^config\.model_settings\.thinking must be/],
  [{ thinking: { type: 'enabled', budget_tokens: 10 } }, /thinking must have budget_tokens of 1024 or more/],
  [{ thinking: { type: 'enabled', budget_tokens: 4096 }, max_tokens: 4000 }, /budget_tokens below max_tokens/],
  [{ temperature: 3 }, /^config\.model_settings\.temperature must be a number from 0 to 2/],
  [{ top_p: '1' }, /^config\.model_settings\.top_p must be a number from 0 to 1/],
  [{ max_tokens: 0 }, /^config\.model_settings\.max_tokens must be a whole number/],
  [{ fallbacks: ['a,b'] }, /^config\.model_settings\.fallbacks must be a list/],
  [{ top_k: 3 }, /^config\.model_settings\.top_k is unknown; known fields: effort/],
]

test('a wrong model setting is rejected by its name, on create and on update', async () => {
  const agent = (await agentWith({})).json<Agent>()
  for (const [model_settings, text] of wrong) {
    for (const line of ['POST /api/agents', `PATCH /api/agents/${agent.id}`]) {
      const answer = await send(service, line, { body: { ...own, config: { model_settings } } })
      assert.equal(answer.status, 400)
      assert.match(answer.json<{ error: { message: string } }>().error.message, text)
    }
  }
  assert.equal((await agentWith({ model_settings: { effort: null } })).headers['x-switchyard-ignored'], undefined)
})
