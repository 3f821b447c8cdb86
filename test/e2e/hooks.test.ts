import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { masking, startHookServer } from '../support/gateway/hook-server.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { clientProgram } from '../support/service/client-program.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-hooks-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'switchyard.yaml')

const hook = await startHookServer()
const upstream = await startScriptedUpstream({ script: [{ text: 'fine' }] })
after(() => Promise.all([hook.stop(), upstream.stop()]))

/** Right after its start a service on a busy machine may be too late to take a call. */
const limits = { max_loop_delay_ms: 10_000 }
const configOf = (hooks: readonly object[]): string => {
  const config = JSON.parse(configFor(upstream)) as { outbound: { allow: string[] } }
  return JSON.stringify({ ...config, hooks, limits, outbound: { allow: [...config.outbound.allow, hook.host] } })
}
const guard = { name: 'guard', url: hook.url, phase: 'pre' }
writeFileSync(file, configOf([guard]))
const service = await startService({ env: { SWITCHYARD_CONFIG: file } })

const body = { model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content: 'my secret' }] }

test('a key’s call is asked about with its key, and its upstream gets what the hook left of it', async () => {
  hook.answer(masking('secret'))
  const holder = await holderOf(service)
  const answer = await send(holder, 'POST /v1/messages', { body })
  assert.equal(answer.status, 200, answer.text)
  const { key_id: id, principal } = hook.last().asked.call
  assert.match(String(id), /^key_/)
  assert.ok(principal)
  assert.match(upstream.requests.at(-1)?.rawBody.toString() ?? '', /my \[masked\]/)

  const [other, before] = [await holderOf(service, { models: ['another'] }), hook.got.length]
  assert.equal((await send(other, 'POST /v1/messages', { body })).status, 403)
  assert.equal(hook.got.length, before)
})

test('a hook reads the whole of a conversation that is stored, and what it blocks is not stored', async () => {
  hook.answer({ action: 'allow' })
  const first = await send(service, 'POST /v1/responses', { body: { model: 'scripted', input: 'the first words' } })
  const { id } = first.json<{ id: string }>()
  const next = { model: 'scripted', input: 'the next words', previous_response_id: id }
  assert.equal((await send(service, 'POST /v1/responses', { body: next })).status, 200)
  assert.match(JSON.stringify(hook.last().asked.call.body), /the first words.*fine.*the next words/)

  hook.answer({ action: 'block', message: 'no' })
  const before = upstream.requests.length
  const blocked = await send(service, 'POST /v1/responses', { body: next })
  assert.deepEqual([blocked.status, blocked.json<{ error: { code: string } }>().error.code], [400, 'blocked_by_hook'])
  assert.equal(upstream.requests.length, before)
})

test('a prompt of a session whose model call a hook blocks ends with the hook’s message', async () => {
  hook.answer({ action: 'block', message: 'not in this house' })
  const session = (await send(service, 'POST /session', { body: {} })).json<Session>()
  const prompt = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: 'hello' }] }
  await send(service, `POST /session/${session.id}/message`, { body: prompt })
  const { session_id, agent_id } = hook.last().asked.call
  assert.equal(session_id, session.id)
  assert.ok(agent_id !== undefined)
  const answer = await send(service, `GET /v1/sessions/${session.id}/events?limit=1000`)
  const { data } = answer.json<{ data: SessionEvent[] }>()
  assert.match(JSON.stringify(data.find(({ type }) => type === 'session.error')), /not in this house/)
})

test('hooks follow the configuration file', async () => {
  hook.answer({ action: 'block' })
  assert.equal((await send(service, 'POST /v1/messages', { body })).status, 400)
  writeFileSync(file, configOf([]))
  await eventually(async () => (await send(service, 'POST /v1/messages', { body })).status === 200)
  writeFileSync(file, configOf([{ ...guard, name: 'again' }]))
  await eventually(async () => (await send(service, 'POST /v1/messages', { body })).status === 400)
})

test('docs/hooks.md: the example runs unchanged', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/hooks.md'), 'utf8')
  const blockOf = (language: string) => new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? ''
  const program = join(folder, 'hook.mjs')
  // A free port in place of the page's own, which another test may have.
  writeFileSync(
    program,
    `${blockOf('js').replace('9100', '0').replace(/\)\n$/, ', function () { console.log(this.address().port) })\n')}`,
  )
  const running = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  after(() => running.kill())
  const [first] = (await once(running.stdout, 'data')) as [Buffer]
  const config = `${blockOf('yaml').replaceAll('9100', String(first).trim())}limits: ${JSON.stringify(limits)}\n`
  const guarded = await startService({ config })
  const { run } = await clientProgram('bash')
  const env = { SWITCHYARD_URL: guarded.url, SWITCHYARD_KEY: guarded.key, PATH: process.env['PATH'] ?? '' }
  const { code, stdout, stderr } = await run({ args: ['-ec', blockOf('sh')], env })
  assert.equal(code, 0, stderr)
  const [answered, blocked] = stdout.split('\n').map(line => JSON.parse(line || '{}') as Record<string, unknown>)
  assert.equal(answered?.['object'], 'chat.completion', stdout)
  const shown = [...page.matchAll(/^```json\n(.*?)^```$/gms)][0]?.[1] ?? ''
  assert.deepEqual(blocked, JSON.parse(shown))
})
