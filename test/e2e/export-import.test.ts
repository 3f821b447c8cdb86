import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { sendOk } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { runSwitchyard } from '../support/service/switchyard-program.ts'

const [first, second] = [await startService(), await startService()]
const folder = temporaryFolder()
const file = join(folder, 'all.yaml')

async function command(on: Service, args: readonly string[]): Promise<string> {
  const env = { HOME: folder, SWITCHYARD_URL: on.url, SWITCHYARD_KEY: on.key }
  const { code, stdout, stderr } = await runSwitchyard(args, env)
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

const counts = async (on: Service, ...options: string[]) => {
  const { created, changed, unchanged } = JSON.parse(await command(on, ['import', file, '--json', ...options]))
  return [created, changed, unchanged]
}

test('an export has agents with memories and schedules, skills, environments and webhooks, and no secret', async () => {
  const body = { name: 'Ada', owner_id: 'team', system: 'You count.', config: { max_turns: 7 } }
  const { id } = await sendOk<{ id: string }>(first, 'POST /api/agents', { body })
  await sendOk(first, 'POST /api/v1/skills', { body: { name: 'Sums', content: 'Add\nslowly.' } })
  const packages = { pip: ['pandas'] }
  const environment = { name: 'python', config: { type: 'cloud', packages }, metadata: { team: 'blue' } }
  await sendOk(first, 'POST /v1/environments', { body: environment })
  const memories = `/api/v1/managed_agents/agents/${id}/memory`
  await sendOk(first, `POST ${memories}`, { body: { text: 'likes tea', tags: ['taste'], priority: 3 } })
  const schedule = { name: 'Daily', agent_id: id, cron: '0 0 29 2 *', timezone: 'Asia/Kathmandu', prompt: 'hello' }
  await sendOk(first, 'POST /api/schedules', { body: schedule })
  const endpoint = { url: 'https://hooks.example.com/in', owner_id: 'team', agent_ids: [id], events: ['session.*'] }
  const { secret } = await sendOk<{ secret: string }>(first, 'POST /api/webhook-endpoints', { body: endpoint })
  const text = await command(first, ['export'])
  await writeFile(file, text)
  assert.equal(text.includes(secret), false)
  const exported = parse(text)
  assert.deepEqual(JSON.parse(await command(first, ['export', '--json'])), exported)
  assert.equal(exported.agents[0].memories[0].text, 'likes tea')
  assert.equal(parse(await command(first, ['export', '--owner', 'other'])).agents.length, 0)
})

test('an import of its own export changes nothing', async () => {
  assert.deepEqual(await counts(first), [0, 0, 6])
})

test('a dry run prints the plan and changes nothing, and the import makes equal objects elsewhere', async () => {
  assert.deepEqual(await counts(second, '--dry-run'), [6, 0, 0])
  assert.deepEqual(await counts(second, '--dry-run'), [6, 0, 0])
  assert.match(await command(second, ['import', file, '--dry-run']), /^create +agent +- +Ada$/m)
  const { created, secrets } = JSON.parse(await command(second, ['import', file, '--json']))
  assert.equal(created, 6)
  assert.match(secrets[0].secret, /^whsec_/)
  assert.deepEqual(await counts(second), [0, 0, 6])
  const { agents, webhook_endpoints } = parse(await command(second, ['export']))
  assert.deepEqual(webhook_endpoints[0].agent_ids, [agents[0].id])
})

test('a changed file changes only what differs, and removes settings that it does not have', async () => {
  const changed = parse(await command(second, ['export']))
  const [agent] = changed.agents
  agent.agent.system = 'You count aloud.'
  delete agent.agent.config.max_turns
  agent.memories[0].priority = 5
  agent.schedules[0].status = 'paused'
  changed.environments[0].config.packages.npm = ['typescript']
  changed.environments[0].metadata = { stage: 'test' }
  await writeFile(file, JSON.stringify(changed))
  assert.match(await command(second, ['import', file, '--dry-run']), /^change +agent +system, config +Ada$/m)
  assert.deepEqual(await counts(second), [0, 4, 2])
  assert.deepEqual(await counts(second), [0, 0, 6])
  const stored = await sendOk<{ system: string; config: object; version: number }>(
    second,
    `GET /api/agents/${agent.id}`,
  )
  assert.deepEqual([stored.system, 'max_turns' in stored.config, stored.version], ['You count aloud.', false, 2])
})

test('objects with equal names, and texts with control characters, arrive as they are', async () => {
  const content = 'esc \u001b[31m\r\n\ttab\u2028 end \n'
  await sendOk(second, 'POST /api/v1/skills', { body: { name: 'Hostile', content } })
  for (const description of ['one', 'two'])
    await sendOk(second, 'POST /v1/environments', { body: { name: 'twice', description } })
  const text = await command(second, ['export'])
  await writeFile(file, text)
  assert.equal(parse(text).skills.at(-1).content, content)
  assert.deepEqual(await counts(second), [0, 0, 9])
  const changed = parse(text)
  changed.environments.at(-1).description = 'three'
  await writeFile(file, JSON.stringify(changed))
  assert.deepEqual(await counts(second), [0, 1, 8])
  assert.deepEqual(await counts(second), [0, 0, 9])
})

test('a file that is no export, or that lacks a field, is rejected with the next step', async () => {
  const env = { HOME: folder, SWITCHYARD_URL: second.url, SWITCHYARD_KEY: second.key }
  const rejected = async (text: string, reason: RegExp) => {
    await writeFile(file, text)
    const { code, stderr } = await runSwitchyard(['import', file], env)
    assert.equal(code, 2)
    assert.match(stderr, reason)
  }
  await rejected('format: other', /is not an export; create it with: switchyard export/)
  await rejected('{"format": "switchyard.export", "format_version": 2}', /has format_version 2, which this version/)
  const empty = { format: 'switchyard.export', format_version: 1, skills: [], environments: [], webhook_endpoints: [] }
  await rejected(JSON.stringify(empty), /must have required properties agents/)
  await rejected(
    JSON.stringify({ ...empty, agents: [{ id: 'agent_1' }] }),
    /agents\.0 must have required properties agent/,
  )
  await rejected(JSON.stringify({ ...empty, agents: [], skills: [{ name: 7 }] }), /skills\.0\.name must be string/)
})
