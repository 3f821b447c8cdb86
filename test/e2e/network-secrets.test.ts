import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { lack } from '../support/service/lack.ts'
import { send, type Target } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const { service } = await startScriptedService()
  const ada = await holderOf(service, { owner_id: 'ada' })
  const value = 'tok-network-0123456789'
  const store = async (target: Target, key: string, scope: 'owner' | 'global') =>
    assert.equal((await send(target, 'POST /api/vault', { body: { key, value, scope } })).status, 200)
  await store(ada, 'OWN', 'owner')
  await store(service, 'SHARED', 'global')

  const secretOf = (vault_key: string) => ({
    vault_key,
    host: 'api.example.com',
    header: 'authorization',
    auth_type: 'bearer_token',
  })
  const agentWith = (network: object) => ({ name: 'A', owner_id: 'ada', model: 'scripted', config: { network } })
  const limited = (...secrets: object[]) => agentWith({ type: 'limited', allowed_hosts: ['api.example.com'], secrets })
  const create = (target: Target, body: object) => send(target, 'POST /api/agents', { body })

  test('an agent names vault entries that it will have, and 400 names the field of others', async () => {
    const made = await create(ada, limited(secretOf('OWN')))
    assert.equal(made.status, 201, made.text)
    const { id, config } = made.json<Agent>()
    assert.deepEqual((config['network'] as { secrets: unknown }).secrets, [secretOf('OWN')])
    assert.equal((await create(service, limited(secretOf('SHARED')))).status, 201)
    for (const [target, body, message] of [
      [
        ada,
        limited(secretOf('OWN'), secretOf('NONE')),
        'config.network.secrets[1].header authorization of api.example.com is a duplicate',
      ],
      [
        ada,
        limited(secretOf('NONE')),
        'config.network.secrets[0].vault_key NONE is not a vault entry of owner ada; store it with POST /api/vault',
      ],
      [
        ada,
        limited(secretOf('SHARED')),
        'config.network.secrets[0].vault_key SHARED is not a vault entry of owner ada; store it with POST /api/vault',
      ],
      [
        ada,
        limited({ ...secretOf('OWN'), host: 'other.example.com' }),
        'config.network.secrets[0].host is not an allowed host; add it to config.network.allowed_hosts',
      ],
      [
        ada,
        limited({ ...secretOf('OWN'), header: 'Host' }),
        'config.network.secrets[0].header host is set by the proxy or by the program itself',
      ],
      [ada, limited({ ...secretOf('OWN'), vault_key: '../x' }), /^config\.network\.secrets\[0\]\.vault_key must/],
      [ada, limited({ ...secretOf('OWN'), auth_type: 'digest' }), /^config\.network\.secrets\[0\]\.auth_type must/],
    ] as const) {
      const answer = await create(target, body)
      assert.equal(answer.status, 400, answer.text)
      const { message: text } = answer.json<{ error: { message: string } }>().error
      if (typeof message === 'string') assert.equal(text, message)
      else assert.match(text, message)
    }
    const patch = await send(ada, `PATCH /api/agents/${id}`, { body: limited(secretOf('NONE')) })
    assert.equal(patch.status, 400, patch.text)
  })

  test('an exported agent has the names of its secrets, and can be imported', async () => {
    const { id } = (await create(ada, limited(secretOf('OWN')))).json<Agent>()
    const file = await send(ada, `GET /api/agents/${id}/export`)
    assert.equal(file.status, 200, file.text)
    const { agent, omitted } = file.json<{ agent: Agent; omitted: string[] }>()
    assert.deepEqual([omitted, (agent.config['network'] as { secrets: unknown }).secrets], [[], [secretOf('OWN')]])
    const imported = await send(ada, 'POST /api/agents/import', { body: file.json() })
    assert.equal(imported.status, 201, imported.text)
  })

  test('the value is in no event, also when a host returns it, and the sandbox trusts the network', async () => {
    const { id: agent_id } = (await create(ada, limited(secretOf('OWN')))).json<Agent>()
    const made = await send(ada, 'POST /session', { body: { agent_id } })
    assert.equal(made.status, 200, made.text)
    const { id } = made.json<Session>()
    const half = [value.slice(0, 9), value.slice(9)].join(' ')
    const print = `printf '%s%s' ${half}`
    const command = `${print}; echo; ${print} | base64; ls /run/switchyard-network; echo $SSL_CERT_FILE`
    const parts = [{ type: 'text', text: saying(bash(command), { text: `It is ${value}.` }) }]
    const answered = await send(ada, `POST /session/${id}/message`, { body: { model: { modelID: 'scripted' }, parts } })
    assert.equal(answered.status, 200, answered.text)
    const { data } = (await send(ada, `GET /v1/sessions/${id}/events?limit=500`)).json<{ data: SessionEvent[] }>()
    const [result = '', message = ''] = ['agent.tool_result', 'agent.message'].map(type =>
      JSON.stringify(data.filter(event => event.type === type)),
    )
    assert.match(result, /\[secret\]\\n[\w=[\]]*\[secret\].*authority\.pem.*ca-certificates\.pem/)
    assert.match(message, /It is \[secret\]\./)
    for (const writing of [value, Buffer.from(value).toString('base64').replace(/.=*$/, '')])
      assert.ok(!`${result}${message}`.includes(writing), result)
  })

  test('L3: a version that a scoped key set up does not get a global entry, whoever made the version after it', async () => {
    await store(ada, 'LATER', 'owner')
    const { id: agent_id } = (await create(ada, limited(secretOf('LATER')))).json<Agent>()
    await send(ada, 'DELETE /api/vault/LATER?scope=owner')
    const text = 'tok-global-9876543210'
    await send(service, 'POST /api/vault', { body: { key: 'LATER', value: text, scope: 'global' } })
    const body = { name: 'A', owner_id: 'ada', config: { approvals: { expires_in: '1h' } } }
    assert.equal((await send(service, `PATCH /api/agents/${agent_id}`, { body })).status, 200)
    /** The value is masked in the answers of sessions that have it. */
    const answer = async (agent_version: number) => {
      const { id } = (await send(ada, 'POST /session', { body: { agent_id, agent_version } })).json<Session>()
      const parts = [{ type: 'text', text: saying({ text }) }]
      const answered = await send(ada, `POST /session/${id}/message`, {
        body: { model: { modelID: 'scripted' }, parts },
      })
      return answered
        .json<{ parts: { text?: string }[] }>()
        .parts.map(part => part.text)
        .join('')
    }
    assert.deepEqual([await answer(1), await answer(2)], [text, '[secret]'])
  })
}
