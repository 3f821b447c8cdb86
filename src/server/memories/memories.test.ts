import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseOf, startMemoriesApp } from '../../../test/support/sessions/memories-app.ts'
import type { Memory } from '../../contract/memories.ts'

const { pool, sessionMemories, call, find, texts, newAgent, add, change } = await startMemoriesApp()

test('POST answers 200 with the new memory: disabled false, times_applied 0, and every default', async () => {
  const agent = await newAgent()
  const { id, created_at, ...memory } = await add(agent, { text: 'Uses tabs' })
  assert.match(id, /^mem_/)
  assert.equal(new Date(created_at).toISOString(), created_at)
  assert.deepEqual(memory, {
    agent_id: agent,
    text: 'Uses tabs',
    tags: [],
    type: 'fact',
    priority: 0,
    disabled: false,
    times_applied: 0,
    last_applied_at: null,
    source: 'ui',
    session_id: null,
    created_by: 'master',
  })
})

test('POST stores the given fields and ignores fields that callers may not set', async () => {
  const agent = await newAgent()
  const sent = { text: ' x\n', tags: ['a', 'b,c', 'ä'], type: 'preference', priority: -3, source: 'slack' }
  const forged = {
    id: 'mem_1',
    disabled: true,
    times_applied: 9,
    created_at: '2001-01-01T00:00:00Z',
    agent_id: 'other',
  }
  const made = await add(agent, { ...sent, ...forged })
  assert.deepEqual({ ...made, ...sent, disabled: false, times_applied: 0, agent_id: agent }, made)
  assert.notEqual(made.id, 'mem_1')
  assert.ok(!made.created_at.startsWith('2001'))
})

const nine = Array.from({ length: 9 }, (_, at) => `t${at}`)
const wrong: readonly (readonly [fault: string, body: object, says: RegExp])[] = [
  ['no text', {}, /^text is required/],
  ['an empty text', { text: '' }, /^text must not be empty/],
  ['a text that is no string', { text: 5 }, /^text must be string/],
  ['a text of more than 32 KB', { text: 'ä'.repeat(16_385) }, /^text must have at most 32768 bytes/],
  ['nine tags', { text: 'x', tags: nine }, /^tags must have at most 8 items/],
  ['tags that are no list', { text: 'x', tags: 'a' }, /^tags must be array/],
  ['a tag that is no string', { text: 'x', tags: ['a', 1] }, /^tags\[1\] must be string/],
  ['a priority that is no integer', { text: 'x', priority: 1.5 }, /^priority must be integer/],
  ['a priority as text', { text: 'x', priority: '1' }, /^priority must be integer/],
  ['a priority beyond the database', { text: 'x', priority: 2 ** 31 }, /^priority must be <= 2147483647/],
  ['an unknown source', { text: 'x', source: 'email' }, /^source must be one of "agent", "slack", "ui"/],
  ['a type that is no string', { text: 'x', type: null }, /^type must be string/],
]
for (const [fault, body, says] of wrong) {
  test(`an invalid memory is 400, names the field, and is not stored: ${fault}`, async () => {
    const agent = await newAgent()
    const answer = await call(`POST ${baseOf(agent)}`, body)
    assert.equal(answer.statusCode, 400, answer.body)
    assert.match(answer.json<{ error: string }>().error, says)
    assert.deepEqual(await find(agent), [])
    const kept = await add(agent, { text: 'kept' })
    if ('text' in body && body.text === 'x' && !('source' in body)) {
      const { text: _, ...rest } = body as { text: string }
      assert.equal((await change(agent, kept.id, rest)).statusCode, 400)
      assert.deepEqual(await find(agent), [kept])
    }
  })
}

test('eight tags and 32 KB of text are accepted', async () => {
  const agent = await newAgent()
  const { tags, text } = await add(agent, { text: 'ä'.repeat(16_384), tags: nine.slice(1) })
  assert.deepEqual([tags.length, text.length], [8, 16_384])
})

test('PATCH changes the given fields: tags replaces the list, absent fields stay', async () => {
  const agent = await newAgent()
  const made = await add(agent, { text: 'one', tags: ['a', 'b'], type: 'fact', priority: 1 })
  const answer = await change(agent, made.id, { tags: ['c'], source: 'agent', times_applied: 7 })
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), { ...made, tags: ['c'] })
  const fields = { text: 'two', type: 'instruction', priority: 5, disabled: true, tags: [] }
  assert.deepEqual((await change(agent, made.id, fields)).json(), { ...made, ...fields })
  assert.deepEqual((await change(agent, made.id, {})).json(), { ...made, ...fields })
  assert.equal((await change(agent, made.id, { text: '' })).statusCode, 400)
  assert.deepEqual(await texts(agent, { q: 'TWO', include_disabled: 'true' }), ['two'])
})

test('GET returns one memory and counts no use', async () => {
  const agent = await newAgent()
  const made = await add(agent, { text: 'one of several' })
  await add(agent, { text: 'another' })
  const answer = await call(`GET ${baseOf(agent)}/${made.id}`)
  assert.deepEqual([answer.statusCode, answer.json()], [200, made])
})

test('DELETE is 204 without a body; a repeat is 404', async () => {
  const agent = await newAgent()
  const { id } = await add(agent, { text: 'gone' })
  const answer = await call(`DELETE ${baseOf(agent)}/${id}`)
  assert.deepEqual([answer.statusCode, answer.body], [204, ''])
  const { rows } = await pool.query('select from memories where id = $1', [id])
  assert.equal(rows.length, 0)
  const again = await call(`DELETE ${baseOf(agent)}/${id}`)
  assert.deepEqual([again.statusCode, again.json()], [404, { error: `memory ${id} not found` }])
})

test('an unknown agent, and a memory of another agent, are 404 on every route', async () => {
  const [one, other] = [await newAgent(), await newAgent()]
  const { id } = await add(one, { text: 'mine' })
  for (const [line, body] of [
    [`GET ${baseOf(other)}/${id}`, undefined],
    [`PATCH ${baseOf(other)}/${id}`, { text: 'x' }],
    [`DELETE ${baseOf(other)}/${id}`, undefined],
  ] as const) {
    const answer = await call(line, body)
    assert.deepEqual([answer.statusCode, answer.json()], [404, { error: `memory ${id} not found` }])
  }
  const memories = '/api/v1/managed_agents/agents/agent_nothing/memories'
  for (const [line, body] of [
    [`GET ${baseOf('agent_nothing')}`, undefined],
    [`POST ${baseOf('agent_nothing')}`, { text: 'x' }],
    [`GET ${baseOf('agent_nothing')}/${id}`, undefined],
    [`PATCH ${baseOf('agent_nothing')}/${id}`, {}],
    [`DELETE ${baseOf('agent_nothing')}/${id}`, undefined],
    [`GET ${memories}/preview`, undefined],
    [`GET ${memories}/export`, undefined],
    [`POST ${memories}/import`, { memories: [] }],
  ] as const) {
    const answer = await call(line, body)
    assert.deepEqual([answer.statusCode, answer.json()], [404, { error: 'agent agent_nothing not found' }], line)
  }
  assert.deepEqual(await texts(one), ['mine'])
})

test('S10: an agent of another owner is reported as not found', async () => {
  const agent = await newAgent('ada')
  const { id } = await add(agent, { text: 'secret' })
  for (const [line, body] of [
    [`GET ${baseOf(agent)}`, undefined],
    [`POST ${baseOf(agent)}`, { text: 'x' }],
    [`PATCH ${baseOf(agent)}/${id}`, { text: 'x' }],
    [`DELETE ${baseOf(agent)}/${id}`, undefined],
  ] as const) {
    assert.equal((await call(line, body, 'bob')).statusCode, 404)
    assert.ok((await call(line, body, 'ada')).statusCode < 300)
  }
})

test('Interface: Memories, rule 1: q is a case-insensitive substring match on the text', async () => {
  const agent = await newAgent()
  for (const text of ['Prefers TABS', 'tabs over spaces', 'Ärger mit Umlauten', 'nothing', '100% sure', 'a_b', 'c\\d'])
    await add(agent, { text })
  const found = async (q: string) => (await texts(agent, { q })).sort()
  assert.deepEqual(await found('tabs'), ['Prefers TABS', 'tabs over spaces'])
  assert.deepEqual(await found('TaB'), ['Prefers TABS', 'tabs over spaces'])
  assert.deepEqual(await found('ärger'), ['Ärger mit Umlauten'])
  assert.deepEqual(await found('ÜMLAUTEN'), [])
  assert.deepEqual(await found('ers tab'), ['Prefers TABS'])
  assert.deepEqual(await found('over tabs'), [])
  for (const [q, text] of [
    ['%', '100% sure'],
    ['_', 'a_b'],
    ['\\', 'c\\d'],
    ["'", undefined],
    ['.*', undefined],
  ] as const)
    assert.deepEqual(await found(q), text === undefined ? [] : [text], `S52: ${q} stands for itself`)
})

test('Interface: Memories, rule 2: tag matches memories whose tags include exactly that value', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'one', tags: ['style', 'code'] })
  await add(agent, { text: 'two', tags: ['styles'] })
  await add(agent, { text: 'three', tags: ['Style'] })
  await add(agent, { text: 'four' })
  assert.deepEqual(await texts(agent, { tag: 'style' }), ['one'])
  assert.deepEqual(await texts(agent, { tag: 'code' }), ['one'])
  assert.deepEqual(await texts(agent, { tag: 'cod' }), [])
  assert.deepEqual(await texts(agent, { tag: '%' }), [])
})

test('Interface: Memories, rule 3: with q and tag a memory must satisfy both', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'uses tabs', tags: ['style'] })
  await add(agent, { text: 'uses tabs' })
  await add(agent, { text: 'uses vim', tags: ['style'] })
  assert.equal((await find(agent, { q: 'TABS', tag: 'style' })).length, 1)
  assert.equal((await find(agent, { q: 'emacs', tag: 'style' })).length, 0)
})

test('Interface: Memories, rule 4: q counts a use of each returned memory only', async () => {
  const agent = await newAgent()
  const other = await add(agent, { text: 'other', tags: ['t'] })
  await add(agent, { text: 'tabs', tags: ['t'] })
  const [returned] = await find(agent, { q: 'tab' })
  assert.equal(returned?.times_applied, 1)
  assert.ok(returned?.last_applied_at)
  await find(agent, { q: 'tab', tag: 't' })
  const [tabs, untouched] = await find(agent)
  assert.deepEqual([tabs?.times_applied, untouched], [2, other])
  assert.ok((tabs?.last_applied_at ?? '') > returned.last_applied_at)
})

test('a search with track=false, by tag only, or with a blank q does not count a use', async () => {
  const agent = await newAgent()
  const made = await add(agent, { text: 'tabs', tags: ['t'] })
  for (const query of [{ q: 'tab', track: 'false' }, { tag: 't' }, { q: ' ' }, { q: '', tag: '' }, {}])
    assert.deepEqual(await find(agent, query as Record<string, string>), [made])
})

test('only memories on the page count as used, and concurrent searches each count', async () => {
  const agent = await newAgent()
  await Promise.all(Array.from({ length: 5 }, (_, at) => add(agent, { text: `tabs ${at}` })))
  assert.equal((await find(agent, { q: 'tabs', limit: '2' })).length, 2)
  const used = async () => (await find(agent)).map(({ times_applied }) => times_applied)
  assert.deepEqual(await used(), [1, 1, 0, 0, 0])
  await Promise.all(Array.from({ length: 20 }, () => find(agent, { q: 'tabs' })))
  assert.deepEqual(await used(), [21, 21, 20, 20, 20])
})

test('Interface: Memories, rule 5: disabled memories are excluded from searches and injection until they are enabled again', async () => {
  const agent = await newAgent()
  const { id } = await add(agent, { text: 'uses tabs', tags: ['style'] })
  const injected = async () => (await sessionMemories.forNewSession(agent)).map(({ text }) => text)
  const seen = async () => [await texts(agent, { q: 'tabs' }), await texts(agent, { tag: 'style' }), await injected()]
  assert.deepEqual(await seen(), [['uses tabs'], ['uses tabs'], ['uses tabs']])
  const disabled = await change(agent, id, { disabled: true })
  assert.equal(disabled.json<Memory>().disabled, true)
  assert.deepEqual(await seen(), [[], [], []])
  assert.deepEqual(await texts(agent), ['uses tabs'])
  assert.deepEqual(await texts(agent, { include_disabled: 'false' }), [])
  assert.deepEqual(await texts(agent, { q: 'tabs', include_disabled: 'true' }), ['uses tabs'])
  await change(agent, id, { disabled: false })
  assert.deepEqual(await seen(), [['uses tabs'], ['uses tabs'], ['uses tabs']])
})

test('the order is priority, then uses, then age, highest and newest first', async () => {
  const agent = await newAgent()
  for (const [text, priority] of [
    ['old', 0],
    ['used', 0],
    ['new', 0],
    ['low', -1],
    ['high', 10],
  ] as const)
    await add(agent, { text, priority })
  await find(agent, { q: 'used' })
  assert.deepEqual(await texts(agent), ['high', 'used', 'new', 'old', 'low'])
})

test('pages have no gap and no repeat, and an invalid cursor is 400', async () => {
  const agent = await newAgent()
  for (let at = 0; at < 7; at++) await add(agent, { text: `note ${at}`, priority: at % 3 })
  const all = await texts(agent)
  const paged: string[] = []
  for (let cursor: string | undefined; ; ) {
    const answer = await call(`GET ${baseOf(agent)}?q=note&limit=3${cursor ? `&cursor=${cursor}` : ''}`)
    paged.push(...answer.json<Memory[]>().map(({ text }) => text))
    cursor = answer.headers['x-next-cursor'] as string | undefined
    if (cursor === undefined) break
  }
  assert.deepEqual(paged, all)
  for (const cursor of [
    'x',
    Buffer.from('1.2').toString('base64url'),
    Buffer.from('9999999999.1.1.m').toString('base64url'),
  ])
    assert.ok([200, 400].includes((await call(`GET ${baseOf(agent)}?cursor=${cursor}`)).statusCode), cursor)
  assert.equal((await call(`GET ${baseOf(agent)}?cursor=x`)).statusCode, 400)
  assert.equal((await call(`GET ${baseOf(agent)}?limit=201`)).statusCode, 400)
  assert.equal((await call(`GET ${baseOf(agent)}?q=${'a'.repeat(257)}`)).statusCode, 400)
})

test('S57: memories are deleted with their agent', async () => {
  const agent = await newAgent()
  await add(agent, { text: 'erased' })
  await pool.query('delete from agents where id = $1', [agent])
  const { rows } = await pool.query('select from memories where agent_id = $1', [agent])
  assert.equal(rows.length, 0)
})
