import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseOf, startMemoriesApp } from '../../../test/support/sessions/memories-app.ts'
import type { Memory } from '../../contract/memories.ts'
import { wordsQuery } from './fold.ts'
import { memoryStore } from './store.ts'

const { pool, call, find, texts, newAgent, add, change } = await startMemoriesApp()
const nine = Array.from({ length: 9 }, (_, at) => `t${at}`)

test('match=words finds any of several words, best match first, and counts the returned memories', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'The user lives in Berlin', priority: 9 })
  await add(agent, { text: 'The user prefers tabs for indentation' })
  await add(agent, { text: 'Indent with tabs' })
  await add(agent, { text: 'Deploys happen on Fridays' })
  const words = (q: string) => texts(agent, { q, match: 'words' })
  assert.deepEqual(await words('deploys friday'), ['Deploys happen on Fridays'])
  assert.equal((await words('how to indent? tabs?'))[0], 'Indent with tabs')
  assert.equal((await words('prefers tabs'))[0], 'The user prefers tabs for indentation')
  assert.deepEqual(await words('abs'), await texts(agent, { q: 'abs' }))
  assert.deepEqual(await words("'); drop | & table"), [])
  const [deploys] = await find(agent, { q: 'deploys', track: 'false' })
  assert.equal(deploys?.times_applied, 1)
  assert.equal((await call(`GET ${baseOf(agent)}?q=a+b&match=words&cursor=eA`)).statusCode, 400)
})

test('a search of a viewer finds the same and counts nothing', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'likes tabs' })
  for (const query of ['q=tabs', 'q=tabs&match=words&track=true']) {
    const answer = await call(`GET ${baseOf(agent)}?${query}`, undefined, undefined, { 'x-viewer-of': 'ada' })
    const [memory] = answer.json<Memory[]>()
    assert.deepEqual([memory?.text, memory?.times_applied, memory?.last_applied_at], ['likes tabs', 0, null])
  }
  assert.equal((await find(agent))[0]?.times_applied, 0)
})

test('type and source narrow a list and a search', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'likes tabs', type: 'preference', source: 'agent' })
  await add(agent, { text: 'likes tea', type: 'preference', source: 'ui' })
  await add(agent, { text: 'lives in Berlin', type: 'fact', source: 'ui' })
  assert.deepEqual((await texts(agent, { type: 'preference' })).sort(), ['likes tabs', 'likes tea'])
  assert.deepEqual(await texts(agent, { type: 'preference', source: 'ui' }), ['likes tea'])
  assert.deepEqual(await texts(agent, { q: 'likes', source: 'agent' }), ['likes tabs'])
  assert.deepEqual(await texts(agent, { q: 'likes', match: 'words', source: 'agent' }), ['likes tabs'])
  assert.equal((await call(`GET ${baseOf(agent)}?source=nobody`)).statusCode, 400)
})

test('disabled=true and disabled=false show only those, in plain lists and in searches', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'one rule' })
  await change(agent, (await add(agent, { text: 'two rules' })).id, { disabled: true })
  assert.deepEqual(await texts(agent, { disabled: 'false' }), ['one rule'])
  assert.deepEqual(await texts(agent, { disabled: 'true' }), ['two rules'])
  assert.deepEqual(await texts(agent, { disabled: 'true', q: 'rule' }), ['two rules'])
  assert.deepEqual(await texts(agent, { disabled: 'false', q: 'rule one', match: 'words' }), ['one rule'])
})

test('an export can be imported in the same order, and a repeat skips everything', async () => {
  const [from, to] = [await newAgent(), await newAgent()]
  for (const [text, priority] of [
    ['one', 0],
    ['two', 5],
    ['three', 0],
  ] as const)
    await add(from, { text, priority, tags: ['t'], type: 'preference', source: 'agent' })
  const [first] = await find(from)
  await change(from, first?.id ?? '', { disabled: true })
  const memories = (agent: string) => `/api/v1/managed_agents/agents/${agent}/memories`
  const page = (await call(`GET ${memories(from)}/export?limit=2`)).json<{ memories: object[]; next_cursor: string }>()
  assert.deepEqual(page.memories[0], {
    text: 'two',
    priority: 5,
    tags: ['t'],
    type: 'preference',
    source: 'agent',
    disabled: true,
  })
  const rest = await call(`GET ${memories(from)}/export?cursor=${page.next_cursor}`)
  assert.equal(rest.json<{ next_cursor: null }>().next_cursor, null)
  const whole = (await call(`GET ${memories(from)}/export`)).json<object>()
  const load = (body: object) => call(`POST ${memories(to)}/import`, body)
  assert.deepEqual((await load(whole)).json(), { imported: 3, skipped: 0 })
  assert.deepEqual((await load(whole)).json(), { imported: 0, skipped: 3 })
  assert.deepEqual((await call(`GET ${memories(to)}/export`)).json(), whole)
  assert.deepEqual((await load({ memories: [{ text: 'x' }, { text: 'x' }] })).json(), { imported: 1, skipped: 1 })

  for (const [body, says] of [
    [{ memories: [{ text: 'good' }, { text: '' }] }, /^memories\[1\]\.text must not be empty/],
    [{ memories: [{ text: 'good' }, { text: 'x'.repeat(32_769) }] }, /^memories\[1\]\.text must/],
    [{ memories: [{ text: 'good' }, { text: 'x', tags: nine }] }, /^memories\[1\]\.tags must have at most 8/],
    [{}, /^memories is required/],
  ] as const) {
    const answer = await load(body)
    assert.equal(answer.statusCode, 400)
    assert.match(answer.json<{ error: string }>().error, says)
  }
  assert.deepEqual(await texts(to, { q: 'good' }), [])
})

test('the preview shows the block of a new session, and why a memory is in it or not', async () => {
  const agent = await newAgent()
  const preview = async () => (await call(`GET /api/v1/managed_agents/agents/${agent}/memories/preview`)).json()
  assert.deepEqual(await preview(), {
    text: '',
    bytes: 0,
    estimated_tokens: 0,
    max_memories: 50,
    max_bytes: 16_384,
    memories: [],
  })
  await add(agent, { text: 'first', priority: 2 })
  await add(agent, { text: 'x'.repeat(20_000), priority: 1 })
  const { id } = await add(agent, { text: 'off', priority: 3 })
  await change(agent, id, { disabled: true })
  await add(agent, { text: 'last' })
  const shown = await preview()
  const why = shown.memories.map(({ memory, reason }: { memory: Memory; reason: string }) => [
    memory.text.slice(0, 5),
    reason,
  ])
  assert.deepEqual(why, [
    ['first', 'injected'],
    ['last', 'injected'],
    ['off', 'disabled'],
    ['xxxxx', 'no_room'],
  ])
  assert.match(shown.text, /first.*last/s)
  assert.equal(shown.bytes, Buffer.byteLength(shown.text))
})

test('no audit entry contains the text of a memory', async () => {
  const { rows } = await pool.query<{ action: string; row: string }>('select action, a::text as row from audit_log a')
  assert.deepEqual([...new Set(rows.map(({ action }) => action))].sort(), [
    'memory.create',
    'memory.import',
    'memory.update',
  ])
  assert.ok(rows.every(({ row }) => !row.includes('tabs')))
})

test('a search in 10,000 memories of one agent uses an index and is faster than reading them all', async () => {
  const [agent, other] = [await newAgent(), await newAgent()]
  for (const [owner, count] of [
    [agent, 10_000],
    [other, 30_000],
  ] as const)
    await pool.query(
      `insert into memories (id, agent_id, text, folded, tags, type, priority, source, created_by)
       select $1 || '_m' || n, $1, t, lower(t), '{}', 'fact', n % 7, 'ui', 'ada' from (
         select n, 'Note ' || n || ' on topic' || n % 500 || ': ' || repeat('the user wants something ', 6) as t
         from generate_series(1, $2::int) n) made`,
      [owner, count],
    )
  await pool.query('analyze memories')
  const plans: string[] = []
  const looked = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await pool.query<Record<'QUERY PLAN', string>>(`explain ${text}`, values)
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'))
      return pool.query(text, values)
    },
  }
  const store = memoryStore(looked as unknown as typeof pool)
  const page = { after: undefined, limit: 51 }
  await store.list(agent, { q: 'TOPIC77', withDisabled: false }, page)
  await store.list(agent, { q: 'topic77 note', words: wordsQuery('topic77 note77'), withDisabled: false }, page)
  for (const plan of plans) assert.doesNotMatch(plan, /Seq Scan/)
  assert.match(plans[0] ?? '', /memories_of_agent/)
  assert.match(plans[1] ?? '', /memories_by_word/)

  const searches = [
    { q: 'TOPIC77' },
    { q: '%_' },
    { q: 'nothing here' },
    { q: 'user' },
    { q: 'topic77 note77', match: 'words' },
    { q: 'user wants note', match: 'words' },
  ]
  const timeOf = async (work: () => Promise<unknown>) => {
    const startedAt = performance.now()
    await work()
    return performance.now() - startedAt
  }
  for (const query of searches) {
    const [times, wholes]: [number[], number[]] = [[], []]
    for (let at = 0; at < 9; at++) {
      times.push(await timeOf(() => find(agent, query as Record<string, string>)))
      wholes.push(await timeOf(() => pool.query('select * from memories where agent_id = $1', [agent])))
    }
    // Minimum of each, to exclude the load of other processes.
    const [best, whole] = [Math.min(...times), Math.min(...wholes)]
    assert.ok(best < whole, `${JSON.stringify(query)}: ${best} ms, all memories ${whole} ms`)
  }
})
