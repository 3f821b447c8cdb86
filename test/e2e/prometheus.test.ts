import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { lack } from '../support/service/lack.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const skip = lack('prometheus')
const rules = join(import.meta.dirname, '..', '..', 'deploy', 'prometheus', 'alerts.yaml')

const promtool = (args: readonly string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', ...(input && { input }) })
  return { status, text: `${stdout}${stderr}` }
}

test('promtool accepts the rules of alerts', { skip }, () => {
  const { status, text } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', rules])
  assert.equal(status, 0, text)
})

interface QueryResult {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] }
}

test('a real Prometheus scrapes the service with a key, and promtool accepts the metrics', { skip }, async () => {
  // A busy machine must not make the service reject the call.
  const service = await startService({ config: JSON.stringify({ limits: { max_loop_delay_ms: 60_000 } }) })
  const body = { model: 'demo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
  assert.equal((await send(service, 'POST /v1/messages', { body })).status, 200)
  const checked = promtool(['check', 'metrics'], (await send(service, 'GET /metrics')).text)
  assert.equal(checked.status, 0, checked.text)

  const folder = await mkdtemp(join(tmpdir(), 'switchyard-prometheus-'))
  const port = await freePort()
  await writeFile(join(folder, 'key'), service.key)
  const config = {
    global: { scrape_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [
      {
        job_name: 'switchyard',
        authorization: { credentials_file: join(folder, 'key') },
        static_configs: [{ targets: [new URL(service.url).host] }],
      },
    ],
  }
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const prometheus = spawn('prometheus', args, { stdio: 'ignore' })
  after(async () => {
    prometheus.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  })
  const at = { url: `http://127.0.0.1:${port}` }
  const query = async (expression: string): Promise<number | undefined> => {
    const answer = await send(at, `GET /api/v1/query?query=${encodeURIComponent(expression)}`)
    const [first] = answer.json<QueryResult>().data.result
    return first && Number(first.value[1])
  }
  const found = (expression: string) =>
    eventually(async () => ((await query(expression).catch(() => undefined)) ?? 0) > 0, {
      what: expression,
    })
  await found('up{job="switchyard"}')
  await found('sum(switchyard_model_calls_total{outcome="completed"})')
  await found('sum(gen_ai_client_operation_duration_seconds_bucket)')
  const { data } = (await send(at, 'GET /api/v1/rules')).json<{
    data: { groups: { rules: { health: string; lastError?: string }[] }[] }
  }>()
  const loaded = data.groups.flatMap(group => group.rules)
  assert.ok(loaded.length > 5)
  assert.deepEqual(
    loaded.flatMap(({ lastError }) => lastError ?? []),
    [],
  )
})
