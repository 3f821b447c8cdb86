// Acts as an upstream that repeats the credential of its caller in every encoding: in error bodies, headers, error frames,
// and, in a session, in an answer that succeeds.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { type Canary, plantCanary, scan } from '../support/secrets/canaries.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { echoingScript, echoModes } from '../support/upstream/echoing-script.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const canaries: Canary[] = []
const { canary, secret } = plantCanary('key of the provider', core => `sk-ant-${core}+/=`)
canaries.push(canary)
const upstream = await startScriptedUpstream({ script: echoingScript })
after(() => upstream.stop())
const params = { model: 'anthropic/m', api_base: upstream.url, api_key: secret }
const service = await startService({
  config: JSON.stringify({
    model_list: [{ model_name: 'plain', params }],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
    router: { retries: 0, cooldown: { failures: 1_000 } },
  }),
})
const promptOf = (mode: string) => ({ messages: [{ role: 'user', content: `MODE:${mode}` }], max_tokens: 10 })

test('M8: no error shows a credential, in any encoding', async () => {
  for (const mode of echoModes) {
    for (const stream of [true, false]) {
      const body = { model: 'plain', stream, ...promptOf(mode) }
      const answer = await send(service, 'POST /v1/messages', { body })
      const place = [mode, JSON.stringify(answer.headers) + answer.text] as const
      assert.deepEqual(scan([place], canaries).findings, [])
    }
  }
})

test('M8: the events of a session and the ledger hold no credential, in any encoding', async () => {
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  for (const mode of ['said', 'status400']) {
    const body = { model: { modelID: 'plain' }, parts: [{ type: 'text', text: `MODE:${mode}` }] }
    await send(service, `POST /session/${id}/message`, { body })
  }
  const events = await send(service, `GET /v1/sessions/${id}/events`)
  const calls = await send(service, 'GET /api/usage/calls')
  assert.match(events.text, /\[secret\]/)
  const places = [['events', events.text] as const, ['ledger', calls.text] as const]
  assert.deepEqual(scan(places, canaries).findings, [])
})
