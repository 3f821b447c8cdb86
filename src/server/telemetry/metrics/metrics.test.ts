import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { UsageRow } from '../../usage/store.ts'
import { combined, noReceiver } from '../telemetry.ts'
import { boundedNames } from './bounded-names.ts'
import { pageFor } from './formats.ts'
import { createMetrics } from './metrics.ts'

const counts = {
  running: 2,
  pending: 1,
  failed: 3,
  leases: 2,
  sandboxes: 1,
  waiting: 4,
  oldest_s: 12.5,
  approvals: 1,
  webhooks: 0,
  endpoint_cursors: 5,
  replies: 0,
  background_queued: 3,
  background_running: 2,
  overdue_s: 0,
}

function metricsOf({ read = async () => counts }: { read?: () => Promise<typeof counts> } = {}) {
  let reads = 0
  const metrics = createMetrics({
    aliasOf: id => (id === 'gpt-1' ? 'gpt' : undefined),
    readings: () => ({
      modelStreams: () => 1,
      eventStreams: () => 0,
      sessionsRunning: () => 2,
      deployments: () => [{ model_name: 'gpt', provider: 'openai', state: 'healthy' }],
      loopDelayMs: () => 20,
      exported: () => [],
    }),
    store: {
      read() {
        reads++
        return read()
      },
      sessions: async () => 10,
    },
    pools: { main: { totalCount: 3, idleCount: 1, waitingCount: 0, options: { max: 20 } } },
    version: '1.2.3',
    role: 'all',
    log: pino({ level: 'silent' }),
  })
  return { ...metrics, telemetry: combined([metrics.receiver]), reads: () => reads }
}

const row = {
  kind: 'messages',
  deployment: 'gpt-1',
  provider: 'openai',
  alias: 'a name that a caller made up',
  outcome: 'completed',
  status: 200,
  attempts: 3,
  input_tokens: 10,
  cache_read_tokens: 5,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 7,
  reasoning_tokens: 2,
  cost_usd: '0.25',
  total_ms: 1500,
  first_content_ms: 300,
  cached: null,
} as unknown as UsageRow

test('a call adds to its metrics; the model is that of the configuration', async () => {
  const { telemetry, scrape } = metricsOf()
  telemetry.called(row)
  const page = await scrape()
  for (const line of [
    'switchyard_model_calls_total{model="gpt",provider="openai",outcome="completed",cached="false"} 1',
    'switchyard_model_call_retries_total{model="gpt",provider="openai"} 2',
    'switchyard_cost_usd_total{model="gpt",provider="openai"} 0.25',
    'switchyard_tokens_total{model="gpt",provider="openai",kind="cache_read"} 5',
    'gen_ai_client_operation_duration_seconds_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt",error_type=""} 1.5',
    'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt"} 1',
    'gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt",gen_ai_token_type="input"} 15',
  ])
    assert.ok(page.includes(line), `${line}\n${page}`)
  assert.doesNotMatch(page, /made up/)
})

test('answers of the response cache count as calls, but not as tokens, cost or latency', async () => {
  const { telemetry, scrape } = metricsOf()
  telemetry.called({ ...row, cached: true, deployment: '' })
  const page = await scrape()
  assert.match(
    page,
    /switchyard_model_calls_total\{model="other",provider="openai",outcome="completed",cached="true"\} 1/,
  )
  assert.doesNotMatch(page, /^switchyard_(tokens|cost_usd)_total\{/m)
})

test('concurrent scrapes share one query; another follows only after five seconds', async () => {
  const { scrape, reads } = metricsOf()
  const pages = await Promise.all([scrape(), scrape(), scrape()])
  await scrape()
  assert.equal(reads(), 1)
  for (const page of pages) {
    assert.match(page, /switchyard_sessions\{state="idle"\} 4/)
    assert.match(page, /switchyard_prompts_waiting_oldest_seconds 12.5/)
  }
})

test('without a database the page reports it down and has no stale counts', async () => {
  let isUp = true
  const metrics = metricsOf({ read: async () => (isUp ? counts : Promise.reject(new Error('unreachable'))) })
  isUp = false
  const page = await metrics.scrape()
  assert.match(page, /^switchyard_database_up 0$/m)
  assert.doesNotMatch(page, /^switchyard_sessions\{/m)
  assert.doesNotMatch(page, /^switchyard_prompts_waiting /m)
  assert.match(page, /^switchyard_database_connections\{pool="main",state="in_use"\} 2$/m)
})

test('runs and tool calls are counted by the events of sessions', async () => {
  const { telemetry, scrape } = metricsOf()
  const at = (seconds: number) => ({ id: 'e', seq: 1, processed_at: new Date(seconds * 1000).toISOString() })
  const run = { prompt_id: 'p', run_id: 'r' }
  telemetry.stored('s', [
    { ...at(1), type: 'session.status_running', ...run },
    { ...at(2), type: 'agent.tool_use', name: 'bash', input: {}, tool_use_id: 't' },
    { ...at(4), type: 'agent.tool_result', tool_use_id: 't', is_error: true },
    { ...at(5), type: 'session.error', error: { type: 'x', message: 'y' }, ...run },
    { ...at(5), type: 'session.status_idle', stop_reason: { type: 'end_turn' }, ...run },
  ])
  const page = await scrape()
  assert.match(page, /switchyard_runs_total\{outcome="failed"\} 1/)
  assert.doesNotMatch(page, /switchyard_runs_total\{outcome="completed"\}/)
  assert.match(page, /switchyard_run_duration_seconds_sum\{outcome="failed"\} 4/)
  assert.match(page, /switchyard_tool_calls_total\{kind="own",outcome="error"\} 1/)
  assert.match(page, /switchyard_tool_call_duration_seconds_sum\{kind="own"\} 2/)
})

test('values of a label beyond the limit are counted as other', () => {
  const nameOf = boundedNames(2)
  assert.deepEqual(['a', 'b', 'c', 'a', ''].map(nameOf), ['a', 'b', 'other', 'a', 'other'])
})

test('OpenMetrics names counters without _total in their metadata and ends with a mark', async () => {
  const { scrape } = metricsOf()
  const { contentType, body } = pageFor('application/openmetrics-text;version=1.0.0,text/plain;q=0.5', await scrape())
  assert.match(contentType, /^application\/openmetrics-text/)
  assert.match(body, /^# TYPE switchyard_takeovers counter\nswitchyard_takeovers_total 0$/m)
  assert.ok(body.endsWith('\n# EOF\n'))
  assert.doesNotMatch(body, /\n\n/)
  assert.match(pageFor('*/*', 'x 1\n').contentType, /^text\/plain/)
})

test('metrics receive everything that telemetry reports', () => {
  assert.deepEqual(Object.keys(metricsOf().receiver).sort(), Object.keys(noReceiver).sort())
})
