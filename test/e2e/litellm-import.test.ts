import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import type { ApiKey } from '../../src/contract/keys.ts'
import { createLiteLlmTables } from '../support/keys/litellm-database.ts'
import { blocksOf } from '../support/pages/docs-page.ts'
import { emptyDatabase, freshDatabase } from '../support/service/database.ts'
import { freePort } from '../support/service/free-port.ts'
import { lack } from '../support/service/lack.ts'
import { writeCommand } from '../support/service/program.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { openaiChat } from '../support/upstream/dialects/openai-chat.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'switchyard-litellm-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
await writeCommand(folder)
const upstream = await startScriptedUpstream({ script: [{ text: 'ready' }], dialect: openaiChat })
after(() => upstream.stop())

const source = await emptyDatabase()
const liteLlm = await createLiteLlmTables(source.pool)
const soon = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '')
const past = '2020-01-01T00:00:00'
await liteLlm.insert('TeamTable', {
  team_id: 'team-1',
  team_alias: 'A',
  max_budget: 100,
  spend: 12.5,
  models: ['gpt-4o', 'other'],
  budget_duration: '30d',
  budget_reset_at: soon,
})
await liteLlm.insert('UserTable', { user_id: 'ana', max_budget: 7, spend: 1, models: [], password: 'password-of-ana' })
await liteLlm.insert('BudgetTable', { budget_id: 'b', max_budget: 3, rpm_limit: 9, budget_duration: '30s' })
await liteLlm.insert('ProxyModelTable', {
  model_id: 'm',
  model_name: 'stored',
  litellm_params: '{"api_key":"encrypted"}',
})
await liteLlm.key('sk-of-the-team-AbC1', {
  key_alias: 'team key',
  team_id: 'team-1',
  models: ['gpt-4o', 'third'],
  max_budget: 10,
  spend: 2.25,
  budget_duration: '7d',
  budget_reset_at: soon,
  tpm_limit: 200_000,
  metadata: '{"project":"x"}',
})
await liteLlm.key('sk-of-ana', {
  key_alias: 'ana',
  user_id: 'ana',
  budget_id: 'b',
  spend: 1,
  model_max_budget: '{"gpt-4o":1}',
})
await liteLlm.key('sk-alone', { expires: soon, models: [] })
await liteLlm.key('sk-over-budget', { key_alias: 'over', max_budget: 1, spend: 1.5 })
await liteLlm.key('sk-blocked', { blocked: true })
await liteLlm.key('sk-expired', { expires: past })
await liteLlm.insert('VerificationToken', { token: 'sk-plain', key_name: 'sk-plain' })

const config = `
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_base: ${upstream.url}/v1
      api_key: os.environ/OPENAI_API_KEY
router_settings: { num_retries: 1 }
general_settings: { master_key: os.environ/GATEWAY_MASTER_KEY }
`
const environment = {
  PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}`,
  HOME: folder,
  SWITCHYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  SWITCHYARD_DATA_DIR: join(folder, 'data'),
  SWITCHYARD_DRAIN_DELAY_MS: '0',
  OPENAI_API_KEY: 'sk-upstream',
}

async function shell(script: string, env: Readonly<Record<string, string>>) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...environment, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { stdout: '', stderr: '' }
  child.stdout.on('data', chunk => {
    printed.stdout += chunk
  })
  child.stderr.on('data', chunk => {
    printed.stderr += chunk
  })
  const tooLong = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), 300_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(tooLong)
  return { code, ...printed }
}

const ask = (target: { url: string; key: string }) =>
  send(target, 'POST /v1/chat/completions', {
    body: { model: 'gpt-4o', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] },
  })

test('keys of LiteLLM work with their limits and spend, in a service that runs meanwhile, and a second import changes nothing', async () => {
  const { url: databaseUrl } = await freshDatabase()
  const service = await startService({
    databaseUrl,
    config: JSON.stringify({
      model_list: [
        {
          model_name: 'gpt-4o',
          params: {
            model: 'openai-compatible/gpt-4o',
            api_base: `${upstream.url}/v1`,
            api_key: 'sk-u',
            base_model: 'openai/gpt-4o',
          },
        },
      ],
      outbound: { allow: [new URL(upstream.url).host] },
    }),
  })
  try {
    const keyed = (key: string) => ({ url: service.url, key })
    assert.equal((await ask(keyed('sk-of-ana'))).status, 401)
    const env = { DATABASE_URL: databaseUrl, LITELLM_DATABASE_URL: source.url }
    const dry = await shell('switchyard import litellm --database --dry-run --json', env)
    assert.equal(dry.code, 0, dry.stderr)
    assert.deepEqual((JSON.parse(dry.stdout) as { keys: object }).keys, { created: 4, unchanged: 0, skipped: 3 })
    const listed = async () => (await send(service, 'GET /api/keys')).json<{ keys: ApiKey[] }>().keys
    assert.deepEqual(await listed(), [])

    const done = await shell('switchyard import litellm --database', env)
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stderr, /Keys: 4 created, 0 imported before, 3 left out/)
    for (const text of [
      'it is blocked',
      'it has expired',
      'stored without a hash',
      'keys.model_max_budget',
      'models.stored',
    ])
      assert.ok(done.stderr.includes(text), text)
    assert.doesNotMatch(done.stderr + done.stdout, /password-of-ana|sk-plain/)

    const before = await listed()
    const [team, ana] = ['team key', 'ana'].map(label => before.find(key => key.label === label))
    assert.deepEqual(
      [
        team?.owner_id,
        team?.models,
        team?.max_budget,
        team?.spend,
        team?.budget_duration,
        team?.tpm_limit,
        team?.last4,
        team?.metadata,
      ],
      ['team-1', ['gpt-4o'], 10, 2.25, '7d', 200_000, 'AbC1', { project: 'x' }],
    )
    assert.equal(Date.parse(team?.budget_reset_at ?? ''), Date.parse(`${soon}Z`))
    assert.deepEqual([ana?.owner_id, ana?.max_budget, ana?.rpm_limit, ana?.budget_duration], ['ana', 3, 9, '1h'])
    assert.equal(
      before.every(({ owner_id, role }) => owner_id !== null && role === 'user'),
      true,
    )
    const budgets = (await send(service, 'GET /api/budgets')).text
    assert.match(budgets, /"scope_id":"team-1"/)

    for (const key of ['sk-of-the-team-AbC1', 'sk-of-ana', 'sk-alone']) {
      const answer = await ask(keyed(key))
      assert.equal(answer.status, 200, `${key}: ${answer.text}`)
    }
    for (const key of ['sk-blocked', 'sk-expired', 'sk-plain', 'sk-unknown', 'sk-of-anA', ''])
      assert.equal((await ask(keyed(key))).status, 401, key)
    const over = await ask(keyed('sk-over-budget'))
    assert.ok([402, 429].includes(over.status), over.text)

    const again = await shell('switchyard import litellm --database', env)
    assert.match(again.stderr, /Keys: 0 created, 4 imported before, 3 left out/)
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      before.map(({ id }) => id),
    )

    await send(service, `DELETE /api/keys/${ana?.id}`)
    assert.equal((await ask(keyed('sk-of-ana'))).status, 401)
  } finally {
    await service.stop()
  }
})

test('a database that is not LiteLLM’s, and a missing one, are named without their password', async () => {
  const { url } = await freshDatabase()
  const other = await shell('switchyard import litellm --database', { DATABASE_URL: url, LITELLM_DATABASE_URL: url })
  assert.equal(other.code, 1)
  assert.match(other.stderr, /has no table of keys of LiteLLM/)
  const missing = await shell('switchyard import litellm --database', {
    DATABASE_URL: url,
    LITELLM_DATABASE_URL: 'postgresql://u:secret-word@127.0.0.1:1/x',
  })
  assert.equal(missing.code, 1)
  assert.doesNotMatch(missing.stderr, /secret-word/)
  const neither = await shell('switchyard import litellm', {})
  assert.equal(neither.code, 2)
})

test('the commands of docs/guides/from-litellm.md run as they are typed, but for addresses and keys', {
  skip: lack('jq') || lack('curl'),
}, async () => {
  const { url: databaseUrl } = await freshDatabase()
  writeFileSync(join(folder, 'config.yaml'), config)
  const port = await freePort()
  const page = readFileSync(join(root, 'docs', 'guides', 'from-litellm.md'), 'utf8')
  const typed = blocksOf('docs/guides/from-litellm.md', page)
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code)
    .join('\n')
    .replace(/^export LITELLM_DATABASE_URL=.*$/m, `export LITELLM_DATABASE_URL='${source.url}'`)
    .replace('sk-a-key-of-litellm', 'sk-of-the-team-AbC1')
  const script = `${typed}\nkill $(jobs -p)\nwait || true`
  const key = 'sk-master-key-of-litellm-0123'
  const { code, stdout, stderr } = await shell(script, {
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    HOST: '127.0.0.1',
    SWITCHYARD_URL: `http://127.0.0.1:${port}`,
    GATEWAY_MASTER_KEY: key,
    SWITCHYARD_KEY: key,
  })
  assert.equal(code, 0, `${stdout}${stderr}`)
  assert.match(stdout, /^ready$/m)
  assert.match(stdout, /^team key\tteam-1\t2.25\d*\t10$/m)
  assert.equal(statSync(join(folder, 'switchyard.yaml')).mode & 0o777, 0o600)
})
