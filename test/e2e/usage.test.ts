import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import type { Agent } from '../../src/contract/agents.ts'
import type { ShownApiKey } from '../../src/contract/keys.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { UsageCall, UsageFigures, UsageGroup } from '../../src/contract/usage.ts'
import { usdOf } from '../../src/server/platform/usd.ts'
import { eventually } from '../support/service/eventually.ts'
import { seededRandom } from '../support/service/random.ts'
import { open, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

/** Pico-dollars a token by kind, as the configuration gives them. */
const prices = {
  alpha: { input: 3_000_000n, output: 15_000_000n, read: 300_000n, write5m: 3_750_000n, write1h: 6_000_000n },
  beta: { input: 123_457n, output: 1_000_003n, read: 7n, write5m: 154_321n, write1h: 246_914n },
  gamma: { input: 1n, output: 0n, read: 0n, write5m: 11n, write1h: 13n },
} as const
type ModelName = keyof typeof prices
const models = Object.keys(prices) as ModelName[]
const perToken = (pico: bigint): number => Number(pico) / 1e12

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const service = await startService({
  config: JSON.stringify({
    model_list: models.map(name => ({
      model_name: name,
      params: {
        model: `anthropic/${name}`,
        api_base: upstream.url,
        api_key: 'sk-upstream',
        input_cost_per_token: perToken(prices[name].input),
        output_cost_per_token: perToken(prices[name].output),
        cache_read_input_token_cost: perToken(prices[name].read),
        cache_creation_input_token_cost: perToken(prices[name].write5m),
        cache_creation_input_token_cost_above_1hr: perToken(prices[name].write1h),
      },
    })),
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
    router: { retries: 1, cooldown: { failures: 1_000 } },
    limits: { max_loop_delay_ms: 10_000 },
  }),
})

const made = async (body: object) => (await send(service, 'POST /api/keys', { body })).json<ShownApiKey>()
const keys = [
  await made({ label: 'of a team', owner_id: 'team', max_budget: 1_000 }),
  await made({ label: 'without an owner' }),
]
await send(service, 'PUT /api/budgets/owner/team', { body: { max_budget: 1_000 } })

interface Counted {
  readonly input: number
  readonly read: number
  readonly write5m: number
  readonly write1h: number
  readonly output: number
  readonly searches: number
}
const kinds = ['input', 'read', 'write5m', 'write1h', 'output', 'searches'] as const
const nothing: Counted = { input: 0, read: 0, write5m: 0, write1h: 0, output: 0, searches: 0 }
const sum = (all: readonly Counted[]): Counted => {
  const total = (kind: keyof Counted) => all.reduce((sofar, one) => sofar + one[kind], 0)
  return Object.fromEntries(kinds.map(kind => [kind, total(kind)])) as unknown as Counted
}

const statedAs = ({ input, read, write5m, write1h, output, searches }: Counted) => ({
  input_tokens: input,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write5m + write1h,
  cache_creation: { ephemeral_5m_input_tokens: write5m, ephemeral_1h_input_tokens: write1h },
  output_tokens: output,
  server_tool_use: { web_search_requests: searches },
})

const countedIn = (given: UsageFigures | UsageCall): Counted => ({
  input: given.input_tokens,
  read: given.cache_read_tokens,
  write5m: given.cache_write_5m_tokens,
  write1h: given.cache_write_1h_tokens,
  output: given.output_tokens,
  searches: given.web_searches,
})

const costOf = (model: string, counted: Counted): bigint => {
  const price = prices[model as ModelName]
  const priced = ['input', 'output', 'read', 'write5m', 'write1h'] as const
  return priced.reduce((total, kind) => total + BigInt(counted[kind]) * price[kind], 0n)
}

const random = seededRandom(20_260_101)
const upTo = (most: number) => Math.floor(random() * most)
const randomUsage = (): Counted => ({
  input: 1 + upTo(50_000),
  read: upTo(200_000),
  write5m: upTo(3_000),
  write1h: upTo(2_000),
  output: 1 + upTo(8_000),
  searches: upTo(3),
})

/** How a call ends, and which figures the upstream has reported by then. */
const endings = {
  'a whole answer': { stream: false, answer: {}, said: 'all' },
  'a whole stream': { stream: true, answer: {}, said: 'all' },
  'a refusal': { stream: true, answer: { status: 400, error: 'no' }, said: 'nothing' },
  'a failure that is tried again': { stream: false, answer: { status: 500, error: 'broken' }, said: 'nothing' },
  'a stream that fails': { stream: true, answer: { text: 'It began so well', breakAtFrame: 4 }, said: 'input' },
  'a client that leaves': { stream: true, answer: { text: 'Too long a story', pauseAtFrame: 4 }, said: 'input' },
} as const satisfies Record<string, { stream: boolean; answer: Answer; said: 'all' | 'input' | 'nothing' }>

interface Made {
  readonly requestId: string
  readonly model: ModelName
  readonly keyId: string | null
  readonly said: 'all' | 'input' | 'nothing'
  readonly usage: Counted
}

async function call(
  ending: keyof typeof endings,
  model: ModelName,
  key: { id: string; key: string } | undefined,
): Promise<Made> {
  const { stream, answer, said } = endings[ending]
  const usage = randomUsage()
  const prompt = saying({ ...answer, usage: statedAs(usage) })
  const body = { model, max_tokens: 8_000, stream, messages: [{ role: 'user', content: prompt }] }
  const target = { url: service.url, key: key?.key ?? service.key }
  const response = await open(target, 'POST /v1/messages', { body })
  if (ending === 'a client that leaves') {
    for await (const chunk of response) if (String(chunk).includes('text_delta')) break
    response.destroy()
  } else for await (const _ of response);
  const requestId = String(response.headers['x-switchyard-request-id'])
  return { requestId, model, keyId: key?.id ?? null, said, usage }
}

const report = async (query: string) =>
  (await send(service, `GET /api/usage?${query}`)).json<{ totals: UsageFigures; groups: UsageGroup[] }>()

async function everyCall(): Promise<UsageCall[]> {
  const all: UsageCall[] = []
  let cursor = ''
  do {
    const answer = await send(service, `GET /api/usage/calls?limit=50${cursor}`)
    const page = answer.json<{ calls: UsageCall[]; next_cursor: string | null }>()
    all.push(...page.calls)
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
  } while (cursor !== '')
  return all
}

const sumUsd = (amounts: readonly (string | null)[]): bigint =>
  amounts.reduce((total, amount) => {
    const [whole = '0', fraction = ''] = (amount ?? '0').split('.')
    return total + BigInt(whole + fraction.padEnd(12, '0'))
  }, 0n)

const budgetRows = async () => {
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ scope: string; scope_id: string; spent: string; reserved: string }>(
    `select scope, scope_id, trim_scale(spent_usd)::text as spent, trim_scale(reserved_usd)::text as reserved from budgets`,
  )
  await client.end()
  return rows
}

test('the ledger is what the upstream counted, to the token and the last digit of a dollar, however calls end', async () => {
  const jobs = [undefined, ...keys].flatMap(key =>
    models.flatMap(model =>
      (Object.keys(endings) as (keyof typeof endings)[]).flatMap(ending => [
        () => call(ending, model, key),
        () => call(ending, model, key),
      ]),
    ),
  )
  const calls: Made[] = []
  const work = async () => {
    for (let job = jobs.pop(); job; job = jobs.pop()) calls.push(await job())
  }
  await Promise.all(Array.from({ length: 8 }, work))
  upstream.release()
  await eventually(async () => (await report('')).totals.requests === calls.length, { what: 'every row' })

  const rows = new Map((await everyCall()).map(row => [row.request_id, row]))
  assert.equal(rows.size, calls.length)
  for (const { requestId, model, keyId, said, usage } of calls) {
    const row = rows.get(requestId) ?? assert.fail(`${requestId} is not in the ledger`)
    const counted = countedIn(row)
    const output = said === 'all' ? usage.output : counted.output
    assert.deepEqual(counted, said === 'nothing' ? nothing : { ...usage, output }, `${requestId} ${row.outcome}`)
    assert.equal(row.estimated, said === 'input')
    assert.deepEqual([row.model, row.key_id, row.cost_usd], [model, keyId, usdOf(costOf(model, counted))])
    assert.equal(row.outcome === 'completed', said === 'all')
  }

  const { totals } = await report('')
  const inLedger = [...rows.values()]
  assert.deepEqual(countedIn(totals), sum(inLedger.map(countedIn)))
  assert.equal(totals.cost_usd, usdOf(inLedger.reduce((cost, row) => cost + costOf(row.model, countedIn(row)), 0n)))
  assert.equal(totals.unpriced_requests, 0)
  const told = calls.filter(({ said }) => said === 'all')
  const finished = await report('outcome=completed')
  assert.equal(finished.totals.requests, told.length)
  assert.deepEqual(countedIn(finished.totals), sum(told.map(({ usage }) => usage)))
  const owed = told.reduce((cost, { model, usage }) => cost + costOf(model, usage), 0n)
  assert.equal(finished.totals.cost_usd, usdOf(owed))
})

test('groups of every kind add up to the totals, as JSON and as CSV', async () => {
  const { totals } = await report('')
  for (const by of [
    'model',
    'key',
    'owner',
    'model,key,outcome',
    'hour,model',
    'day',
    'deployment',
    'provider',
    'agent,version',
  ]) {
    const { groups } = await report(`group_by=${by}`)
    assert.deepEqual(sum(groups.map(countedIn)), countedIn(totals), by)
    assert.equal(sumUsd(groups.map(({ cost_usd }) => cost_usd)), sumUsd([totals.cost_usd]), by)
    const csv = (await send(service, `GET /api/usage?group_by=${by}&format=csv`)).text.trimEnd().split('\r\n')
    const [columns = [], ...lines] = csv.map(line => line.split(','))
    assert.equal(lines.length, groups.length)
    assert.equal(sumUsd(lines.map(line => line[columns.indexOf('cost_usd')] ?? '')), sumUsd([totals.cost_usd]), by)
  }
})

test('a session is booked on its agent, its owner and the key that queued its prompt', async () => {
  const [key] = keys
  const target = { url: service.url, key: key?.key ?? '' }
  const agent = { name: 'Counted', owner_id: 'team', model: 'alpha' }
  const { id: agent_id } = (await send(target, 'POST /api/agents', { body: agent })).json<Agent>()
  const { id } = (await send(target, 'POST /session', { body: { agent_id } })).json<Session>()
  const usages = [randomUsage(), randomUsage()]
  for (const usage of usages) {
    const parts = [{ type: 'text', text: saying({ text: 'done', usage: statedAs(usage) }) }]
    const answer = await send(target, `POST /session/${id}/message`, { body: { model: { modelID: 'alpha' }, parts } })
    assert.equal(answer.status, 200, answer.text)
  }
  await eventually(async () => (await report(`session_id=${id}`)).totals.requests === 2, { what: 'both rows' })
  for (const filter of [
    `session_id=${id}`,
    `agent_id=${agent_id}`,
    `owner_id=team&session_id=${id}&key_id=${key?.id}`,
  ]) {
    const { totals } = await report(filter)
    assert.deepEqual(countedIn(totals), sum(usages), filter)
    assert.equal(totals.cost_usd, usdOf(usages.reduce((cost, usage) => cost + costOf('alpha', usage), 0n)))
  }
})

test('I5: the ledger adds up to what every budget has spent, and nothing is held any more', async () => {
  const rows = await budgetRows()
  assert.equal(rows.filter(({ scope }) => scope === 'key').length, keys.length)
  for (const { scope, scope_id, spent, reserved } of rows) {
    const { totals } = await report(`${scope}_id=${scope_id}`)
    assert.ok(totals.requests > 0)
    assert.deepEqual([spent, reserved], [totals.cost_usd, '0'], `${scope} ${scope_id}`)
  }
})

test('S10: a key sees what is its own to see', async () => {
  const all = await report('group_by=key,owner')
  const sumOf = (fits: (by: UsageGroup['by']) => boolean) =>
    all.groups.filter(({ by }) => fits(by)).reduce((total, { requests }) => total + requests, 0)
  const seenBy = async ({ key }: { readonly key: string }) =>
    (await send({ url: service.url, key }, 'GET /api/usage')).json<{ totals: UsageFigures }>().totals.requests
  const [ofTeam, ofNobody] = keys
  assert.equal(
    await seenBy(ofTeam ?? service),
    sumOf(by => by['owner'] === 'team'),
  )
  assert.equal(
    await seenBy(ofNobody ?? service),
    sumOf(by => by['key'] === ofNobody?.id),
  )
  assert.equal(await seenBy(service), all.totals.requests)
})
