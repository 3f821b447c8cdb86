import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { DatasetCase, RejectedCase } from '../../src/contract/datasets.ts'
import type { Experiment, ExperimentCase, ExperimentComparison } from '../../src/contract/experiments.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { runLine } from '../support/service/command-line.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { evaluationScript } from '../support/sessions/evaluation-script.ts'
import { startWebhookReceiver } from '../support/triggers/webhook-receiver.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream({ script: evaluationScript })
const receiver = await startWebhookReceiver()
const { url: databaseUrl } = await freshDatabase()
const prices = { input_cost_per_token: 0.000_01, output_cost_per_token: 0.000_05 }
const config = JSON.stringify({
  model_list: [
    {
      model_name: 'scripted',
      params: { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream', ...prices },
    },
  ],
  outbound: { allow: [`127.0.0.1:${upstream.port}`, receiver.host] },
})
const service = await startService({ databaseUrl, config })
const stops = [service.stop]
const folder = await mkdtemp(join(tmpdir(), 'switchyard-evaluations-'))
after(async () => {
  for (const stop of stops) await stop()
  await upstream.stop()
  await rm(folder, { recursive: true, force: true })
})

const ok = <T>(line: string, body?: unknown): Promise<T> => sendOk<T>(service, line, { body })
const patience = { withinMs: 120_000 }

async function endOf(id: string, target = service): Promise<Experiment> {
  return eventually(async () => {
    const experiment = await sendOk<Experiment>(target, `GET /api/experiments/${id}`)
    return experiment.ended_at !== null && experiment
  }, patience)
}

const started = async (body: object): Promise<string> => (await ok<Experiment>('POST /api/experiments', body)).id
const ran = async (body: object): Promise<Experiment> => endOf(await started(body))

async function resultsOf({ id }: Pick<Experiment, 'id'>, target = service): Promise<Record<string, ExperimentCase>> {
  const { cases } = await sendOk<{ cases: ExperimentCase[] }>(target, `GET /api/experiments/${id}/cases?limit=200`)
  return Object.fromEntries(cases.map(each => [each.name, each]))
}

async function datasetWith(name: string, cases: readonly object[]): Promise<string> {
  const { id } = await ok<{ id: string }>('POST /api/datasets', { name })
  const { rejected } = await ok<{ rejected: RejectedCase[] }>(`POST /api/datasets/${id}/cases`, { cases })
  assert.deepEqual(rejected, [])
  return id
}

const switchyard = (...args: readonly string[]) =>
  runLine(args, { env: { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key }, fetch, nowMs: () => Date.now() })

// The story: an agent with three versions, and a dataset from three real sessions of the first one.
const words = ['alpha', 'beta', 'gamma'] as const
const agent = await ok<Agent>('POST /api/agents', { name: 'Scribe', owner_id: 'team', system: 'version 1' })
await ok('POST /api/webhook-endpoints', { url: receiver.url, events: ['session.status_idle'] })
const sessions: string[] = []
for (const prompt of words) {
  const { id } = await ok<Session>('POST /session', { agent_id: agent.id, prompt })
  await eventually(async () => (await ok<Session>(`GET /session/${id}`)).status === 'idle', patience)
  sessions.push(id)
}
for (const version of [2, 3])
  await ok(`PATCH /api/agents/${agent.id}`, { name: 'Scribe', owner_id: 'team', system: `version ${version}` })
const recordedCases = await Promise.all(
  words.map(async (word, at) => {
    const { data } = await ok<{ data: { id: string }[] }>(`GET /session/${sessions[at]}/prompts`)
    const source = { session_id: sessions[at], prompt_id: data[0]?.id }
    return { name: word, source, graders: [{ type: 'contains', value: `token-${word}` }] }
  }),
)
const dataset_id = await datasetWith('Words', recordedCases)
const base = await ran({ dataset_id, agent_id: agent.id, agent_version: 1 })

test('cases from sessions have the prompt and the recorded results', async () => {
  const { cases } = await ok<{ cases: DatasetCase[] }>(`GET /api/datasets/${dataset_id}/cases`)
  assert.deepEqual(
    cases.map(({ name, prompts, recorded_calls, source }) => [name, prompts, recorded_calls, source?.session_id]),
    words.map((word, at) => [word, [word], 1, sessions[at]]),
  )
})

test('an experiment runs a session per case and reports outcome, score, cost, tokens and time', async () => {
  assert.deepEqual([base.state, base.counts.passed, base.pass_rate, base.score], ['done', 3, 1, 1])
  assert.ok((base.cost_usd ?? 0) > 0 && base.output_tokens > 0 && base.unpriced_calls === 0)
  const results = Object.values(await resultsOf(base))
  assert.equal(new Set(results.map(({ session_id }) => session_id)).size, 3)
  for (const { session_id, duration_ms, cost_usd, answer } of results) {
    const session = await ok<Session>(`GET /session/${session_id}`)
    assert.deepEqual([session.agent_version, session.metadata['experiment_id']], [1, base.id])
    assert.ok((duration_ms ?? 0) > 0 && (cost_usd ?? 0) > 0)
    assert.match(answer ?? '', /token-/)
  }
})

test('the comparison of two versions names the case that got worse, the cost, and what changed', async () => {
  const other = await ran({ dataset_id, agent_id: agent.id, agent_version: 2 })
  const line = `GET /api/experiments/${other.id}/compare?with=${base.id}`
  const { totals, cases, agent_changes } = await ok<ExperimentComparison>(line)
  assert.deepEqual([totals.worse, totals.better, totals.same], [1, 0, 2])
  const [first] = cases
  assert.deepEqual(
    [first?.name, first?.change, first?.base?.state, first?.other?.state],
    ['beta', 'worse', 'passed', 'failed'],
  )
  assert.equal(first?.score_change, -1)
  // 900 more output tokens in the last answer of each case.
  assert.ok(Math.abs((totals.cost_change_usd ?? 0) - 3 * 900 * prices.output_cost_per_token) < 0.000_001)
  assert.deepEqual(
    agent_changes?.map(({ field }) => field),
    ['system'],
  )
  const newest = await ok<ExperimentComparison>(`GET /api/experiments/${other.id}/compare`)
  assert.equal(newest.base.id, base.id)
  assert.equal((await send(service, `GET /api/experiments/${base.id}/compare`)).status, 409)

  const failed = await switchyard('experiments', 'compare', other.id, '--with', base.id, '--fail-on-worse')
  assert.deepEqual([failed.code, failed.stderr], [1, ''])
  assert.match(failed.stdout, /worse +passed +failed +.*beta/)
  assert.equal((await switchyard('experiments', 'compare', other.id)).code, 0)
})

test('a replay calls nothing but the model, and gives the recorded results', async () => {
  await eventually(() => receiver.accepted.some(({ text }) => text.includes(base.id)) || receiver.accepted.length >= 6)
  const [calls, deliveries] = [upstream.requests.length, receiver.requests.length]
  const replay = await ran({ dataset_id, agent_id: agent.id, agent_version: 1, replay: true })
  assert.deepEqual([replay.counts.passed, replay.counts.diverged], [3, 0])
  // Two requests to the model a case: the call of the tool, and the answer.
  assert.equal(upstream.requests.length - calls, 6)
  const changed = await ran({ dataset_id, agent_id: agent.id, agent_version: 2, replay: true })
  assert.deepEqual([changed.counts.passed, changed.counts.failed, changed.counts.diverged], [2, 1, 0])
  const diverged = await ran({ dataset_id, agent_id: agent.id, agent_version: 3, replay: true })
  assert.deepEqual([diverged.counts.passed, diverged.counts.diverged], [3, 3])

  for (const experiment of [replay, changed, diverged]) {
    for (const { session_id } of Object.values(await resultsOf(experiment))) {
      const session = await ok<{ sandbox_status: string }>(`GET /api/v1/managed_agents/sessions/${session_id}`)
      assert.equal(session.sandbox_status, 'none')
      assert.deepEqual((await ok<{ data: unknown[] }>(`GET /api/sessions/${session_id}/files`)).data, [])
    }
  }
  // A session that does reach the receiver shows that the others would have been there by now.
  const { id } = await ok<Session>('POST /session', { agent_id: agent.id, agent_version: 1, prompt: 'delta' })
  await eventually(() => receiver.requests.some(({ text }) => text.includes(id)), patience)
  assert.equal(receiver.requests.length, deliveries + 1)
})

test('a replay without what it needs is 400, and its session never falls back to real tools', async () => {
  const plain = await datasetWith('Plain', [{ name: 'not recorded', prompts: ['x'] }])
  const replayOf = (body: object) => send(service, 'POST /api/experiments', { body: { replay: true, ...body } })
  const missing = await replayOf({ dataset_id: plain, agent_id: agent.id })
  assert.deepEqual([missing.status, /not recorded.* has no recorded tool results/.test(missing.text)], [400, true])
  const harness = { alias: 'elsewhere', api_spec: 'opencode', api_base: 'https://opencode.invalid', api_key: 'k' }
  await ok('POST /api/runtime-harnesses', harness)
  const fields = { name: 'Foreign', owner_id: 'team', config: { runtime: 'elsewhere' } }
  const foreign = await ok<Agent>('POST /api/agents', fields)
  const refused = await replayOf({ dataset_id, agent_id: foreign.id })
  assert.deepEqual([refused.status, /not supported by runtime elsewhere/.test(refused.text)], [400, true])

  const replay = await ran({ dataset_id, agent_id: agent.id, agent_version: 1, replay: true })
  const [first] = Object.values(await resultsOf(replay))
  await ok(`DELETE /api/experiments/${replay.id}`)
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: 'alpha' }] }
  await ok(`POST /session/${first?.session_id}/prompt_async`, body)
  await eventually(async () => (await ok<Session>(`GET /session/${first?.session_id}`)).status === 'error', patience)
})

test('each bad grader and session is a clear result of its case, and all others go on', async () => {
  const judge = (rubric: string) => [{ type: 'judge', model: 'scripted', rubric }]
  const command = (text: string) => [{ type: 'command', command: text, timeout_seconds: 2 }]
  const cases = [
    { name: 'endless', prompts: ['x'], graders: command('while true; do :; done') },
    {
      name: 'flood',
      prompts: ['x'],
      graders: [{ ...command('head -c 1000000000 /dev/zero')[0], timeout_seconds: 60 }],
    },
    { name: 'exit 3', prompts: ['x'], graders: command('echo broken; exit 3') },
    { name: 'reads the answer', prompts: ['x-7'], graders: command('grep -q x-7 "$ANSWER_FILE"') },
    { name: 'nonsense', prompts: ['x'], graders: judge('nonsense') },
    { name: 'repaired', prompts: ['x'], graders: judge('repair') },
    { name: 'disliked', prompts: ['x'], graders: judge('bad') },
    { name: 'backtracking', prompts: [`${'a'.repeat(40)}!`], graders: [{ type: 'regex', pattern: '^(a+)+$' }] },
    { name: 'schema', prompts: ['{"n":1}'], graders: [{ type: 'json_schema', schema: { required: ['n'] } }] },
    { name: 'not JSON', prompts: ['x'], graders: [{ type: 'json_schema', schema: {} }] },
    { name: 'exact', prompts: ['Yes '], graders: [{ type: 'exact', value: 'yes', ignore_case: true }] },
    { name: 'refused', prompts: ['refuse'], graders: [{ type: 'exact', value: 'x' }] },
    { name: 'two prompts', prompts: ['one', 'two'], graders: [{ type: 'exact', value: 'two' }] },
    { name: 'no grader', prompts: ['x'] },
  ]
  const experiment = await ran({ dataset_id: await datasetWith('Bad', cases), model: 'scripted', judge_budget_usd: 10 })
  const shown = Object.entries(await resultsOf(experiment)).map(([name, { state, score, error }]) => [
    name,
    state,
    score ?? error?.type,
  ])
  // The simulated shell ends such commands with an exit code.
  const isCutOff = ([name]: readonly unknown[]) => name === 'endless' || name === 'flood'
  for (const [name, state] of shown.filter(isCutOff)) assert.notEqual(state, 'passed', String(name))
  assert.deepEqual(
    shown.filter(each => !isCutOff(each)),
    [
      ['exit 3', 'failed', 0],
      ['reads the answer', 'passed', 1],
      ['nonsense', 'error', 'grader_error'],
      ['repaired', 'passed', 0.8],
      ['disliked', 'failed', 0.1],
      ['backtracking', 'error', 'grader_error'],
      ['schema', 'passed', 1],
      ['not JSON', 'failed', 0],
      ['exact', 'passed', 1],
      ['refused', 'error', 'session_failed'],
      ['two prompts', 'passed', 1],
      ['no grader', 'passed', 1],
    ],
  )
  assert.ok((experiment.judge_cost_usd ?? 0) > 0)
  const { nonsense } = await resultsOf(experiment)
  assert.match(nonsense?.error?.message ?? '', /did not answer with a score/)
})

test('a case whose agent asks for an approval ends at once, and names the tool', async () => {
  const tools = [{ type: 'bash', permission_policy: { type: 'always_ask' } }]
  const body = { name: 'Careful', owner_id: 'team', system: 'version 1', tools }
  const careful = await ok<Agent>('POST /api/agents', body)
  const experiment = await ran({ dataset_id, agent_id: careful.id })
  for (const { state, error, session_id } of Object.values(await resultsOf(experiment))) {
    assert.deepEqual([state, error?.type], ['error', 'approval_required'])
    assert.match(error?.message ?? '', /^tool bash requires an approval/)
    const { approvals } = await ok<{ approvals: unknown[] }>(
      `GET /api/approvals?session_id=${session_id}&state=pending`,
    )
    assert.deepEqual(approvals, [])
  }
})

test('a case with a secret is rejected by name, or stored without it', async () => {
  const { id } = await ok<{ id: string }>('POST /api/datasets', { name: 'Secrets' })
  const secret = 'sk-0123456789abcdefghij'
  const cases = [{ name: 'leaky', prompts: ['first', `use ${secret}`] }, { prompts: ['harmless'] }]
  type Added = { cases: DatasetCase[]; rejected: RejectedCase[] }
  const added = await ok<Added>(`POST /api/datasets/${id}/cases`, { cases })
  assert.deepEqual(
    added.cases.map(({ name }) => name),
    ['harmless'],
  )
  assert.deepEqual(
    added.rejected.map(({ index, name }) => [index, name]),
    [[0, 'leaky']],
  )
  assert.match(added.rejected[0]?.reason ?? '', /^prompts\[1\] contains what looks like a secret/)
  const redacted = await ok<Added>(`POST /api/datasets/${id}/cases`, { cases, redact: true })
  assert.deepEqual(redacted.cases[0]?.prompts, ['first', 'use [secret]'])
  assert.ok(!service.logs().includes(secret))
  const unknown = await send(service, `POST /api/datasets/${id}/cases`, { body: { cases: [{ prompt: 'x' }] } })
  assert.deepEqual([unknown.status, /unknown field .*cases\[0\][.]prompt/.test(unknown.text)], [400, true])
})

test('budgets, cancellation and kill switches end an experiment, and what it has started', async () => {
  const cases = ['a', 'b', 'c'].map(name => ({ name, prompts: ['slow'] }))
  const slow = await datasetWith('Slow', cases)
  const poor = await ran({ dataset_id: slow, model: 'scripted', max_parallel: 2, max_budget_usd: 0.000_001 })
  const reasons = Object.values(await resultsOf(poor)).map(({ error }) => error?.type)
  assert.deepEqual(reasons, ['budget_reached', 'budget_reached', 'budget_reached'])

  const body = {
    dataset_id: slow,
    agent_id: (await ok<Agent>('POST /api/agents', { name: 'Idle', owner_id: 'team' })).id,
  }
  const runningOf = (id: string) =>
    eventually(async () => {
      const { counts } = await ok<Experiment>(`GET /api/experiments/${id}`)
      return counts.running === 2 && counts.waiting === 1
    }, patience)
  const cancelled = await started({ ...body, max_parallel: 2 })
  await runningOf(cancelled)
  assert.equal((await send(service, `DELETE /api/experiments/${cancelled}`)).status, 409)
  await switchyard('experiments', 'cancel', cancelled)
  const after = await endOf(cancelled)
  assert.deepEqual([after.state, after.counts.cancelled], ['cancelled', 3])

  const stopped = await started({ ...body, max_parallel: 2 })
  await runningOf(stopped)
  await ok('POST /v1/stop', { agent_id: body.agent_id, reason: 'too expensive' })
  const end = await endOf(stopped)
  assert.deepEqual(
    [end.state, end.reason, end.counts.waiting, end.counts.running],
    ['cancelled', 'too expensive', 0, 0],
  )
})

test('the command line adds cases, waits for the end, and fails a build when too few pass', async () => {
  const file = join(folder, 'cases.jsonl')
  const lines = ['yes', 'no'].map(value => JSON.stringify({ prompts: ['yes'], graders: [{ type: 'exact', value }] }))
  await writeFile(file, lines.join('\n'))
  const { stdout } = await switchyard('datasets', 'create', 'Answers')
  assert.match(stdout, /^dset_/)
  assert.match((await switchyard('datasets', 'add', 'Answers', file)).stdout, /2 added, 0 rejected/)
  const fromSession = await switchyard('datasets', 'add', 'Answers', '--session', sessions[0] ?? '', '--name', 'alpha')
  assert.deepEqual([fromSession.code, fromSession.stdout], [0, '1 added, 0 rejected\n'])
  assert.match((await switchyard('datasets', 'show', 'Answers')).stdout, /exact .*yes/)
  const run = ['experiments', 'run', 'Answers', '--model', 'scripted', '--wait']
  const enough = await switchyard(...run, '--fail-under', '0.6')
  assert.equal(enough.code, 0, enough.stderr)
  assert.match(enough.stdout, /pass_rate +0[.]67/)
  assert.equal((await switchyard(...run, '--fail-under', '0.9')).code, 1)
  assert.match((await switchyard('experiments', 'ls', '--dataset', 'Answers')).stdout, /2\/3/)
  await switchyard('datasets', 'rm', 'Answers', '--yes')
})

test('an experiment survives the death of its process, and each case runs once', async () => {
  const cases = Array.from({ length: 12 }, (_, at) => ({ name: `case ${at}`, prompts: [`word ${at}`] }))
  const id = await started({ dataset_id: await datasetWith('Many', cases), model: 'scripted', max_parallel: 3 })
  await eventually(async () => (await ok<Experiment>(`GET /api/experiments/${id}`)).counts.passed > 0, patience)
  await service.kill()
  const second = await startService({ databaseUrl, config })
  stops.push(second.stop)
  const ended = await endOf(id, second)
  assert.deepEqual([ended.state, ended.counts.passed], ['done', 12])
  const results = Object.values(await resultsOf({ id }, second))
  assert.equal(new Set(results.map(({ session_id }) => session_id)).size, 12)
  const made = await sendOk<Session[]>(second, `GET /session?limit=200&metadata[experiment_id]=${id}`)
  assert.equal(made.length, 12)
})
