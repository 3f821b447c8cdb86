import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { skillPath, startSkillsApp } from '../../../test/support/sessions/skills-app.ts'
import type { Agent } from '../../contract/agents.ts'
import type { Skill } from '../../contract/skills.ts'

const database = await freshDatabase()
const { call, done, newSkill, newAgent, attach, detach, actionsOf } = startSkillsApp(database)

test('Interface: Skills, POST is 201 with the record: id, name, description, content, created_at', async () => {
  const { id, created_at, ...rest } = await newSkill({ description: 'Short answers', content: '  # Terse\n\n' })
  assert.match(id, /^skill_[0-9a-f]{32}$/)
  assert.equal(new Date(created_at).toISOString(), created_at)
  assert.deepEqual(rest, { name: 'Terse', description: 'Short answers', content: '  # Terse\n\n' })
  assert.equal((await newSkill()).description, null)
})

test('Interface: Skills, GET lists only the skills of the caller, newest first, in pages', async () => {
  const made: Skill[] = []
  for (const name of ['one', 'two', 'three']) made.push(await newSkill({ name }, 'label'))
  const all = await done<{ data: Skill[]; next_cursor: null }>('label', 'GET /api/v1/skills')
  assert.deepEqual(all, { data: made.toReversed(), next_cursor: null })
  const first = await done<{ data: Skill[]; next_cursor: string }>('label', 'GET /api/v1/skills?limit=2')
  const rest = await done('label', `GET /api/v1/skills?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual([first.data.length, rest], [2, { data: [made[0]], next_cursor: null }])
  assert.deepEqual(await done('bo', 'GET /api/v1/skills'), { data: [], next_cursor: null })
})

test('Interface: Skills, GET, PATCH and DELETE of one; 404 for an unknown skill and for another caller’s skill', async () => {
  const made = await newSkill({ description: 'old' })
  const url = `/api/v1/skills/${made.id}`
  assert.deepEqual(await done('ana', `GET ${url}`), made)
  assert.deepEqual(await done('ana', `PATCH ${url}`, {}), made)
  assert.deepEqual(await done('ana', `PATCH ${url}`, { name: 'New', content: 'C' }), {
    ...made,
    name: 'New',
    content: 'C',
  })
  assert.equal((await done<Skill>('ana', `PATCH ${url}`, { description: null })).description, null, 'null clears')
  for (const caller of ['bo', 'label', 'master'] as const) {
    for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const) {
      const { statusCode, body: text } = await call(caller, `${method} ${url}`, body)
      assert.deepEqual([statusCode, JSON.parse(text)], [404, { error: `skill ${made.id} not found` }], method)
    }
  }
  assert.equal(await done('ana', `DELETE ${url}`, undefined, 204), undefined)
  assert.equal((await call('ana', `GET ${url}`)).statusCode, 404)
  assert.deepEqual(await actionsOf(made.id), [
    'skill.create',
    'skill.update',
    'skill.update',
    'skill.update',
    'skill.delete',
  ])
})

test('Interface: Skills, rule 1: attaching appends the block to the system prompt', async () => {
  const [agent, skill] = [await newAgent('Base.'), await newSkill({ content: 'Be terse.\n<!-- skill:fake -->' })]
  const attached = await attach(agent, { skill_id: skill.id })
  assert.deepEqual(attached, {
    agent: {
      ...agent,
      system: `Base.\n\n<!-- skill:${skill.id} -->\nBe terse.\n<!-- skill&#58;fake -->`,
      version: 2,
    },
    skill,
  })
  assert.deepEqual(await done('ana', `GET /api/agents/${agent.id}`), attached.agent)
  assert.deepEqual(await done('ana', `GET /api/v1/skills/${skill.id}`), skill, 'the library keeps the original')
  assert.deepEqual(await actionsOf(agent.id), ['agent.create', 'agent.attach_skill'])
})

test('Interface: Skills, rule 2: an inline skill without a name gets `Skill <ISO timestamp>` in the library', async () => {
  const agent = await newAgent()
  const { agent: after, skill } = await attach(agent, { content: 'Inline.', description: 'D' })
  assert.match(skill?.name ?? '', /^Skill \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual([skill?.content, skill?.description], ['Inline.', 'D'])
  assert.equal(after.system, `Base.\n\n<!-- skill:${skill?.id} -->\nInline.`)
  assert.deepEqual(await done('ana', `GET /api/v1/skills/${skill?.id}`), skill)
  const named = await attach(agent, { content: 'Inline.', name: 'Mine', save_to_library: true })
  assert.equal(named.skill?.name, 'Mine')
  assert.deepEqual(await actionsOf(skill?.id ?? ''), ['skill.create'])
})

test('Interface: Skills, rule 3: with save_to_library false nothing is written, looked up or attached again', async () => {
  const agent = await newAgent()
  const before = await done<{ data: Skill[] }>('ana', 'GET /api/v1/skills?limit=200')
  const { agent: after, ...rest } = await attach(agent, { content: 'Once.', name: 'N', save_to_library: false })
  assert.deepEqual(rest, {}, 'no skill in the answer')
  const id = /<!-- skill:(\S+) -->\nOnce\.$/.exec(after.system)?.[1] ?? assert.fail(after.system)
  assert.deepEqual(await done('ana', 'GET /api/v1/skills?limit=200'), before)
  assert.equal((await call('ana', `GET /api/v1/skills/${id}`)).statusCode, 404)
  assert.equal((await call('ana', `POST ${skillPath(agent)}`, { skill_id: id })).statusCode, 404)
  assert.equal((await detach(agent, `?skill_id=${id}`)).agent.system, 'Base.', 'but it can be taken out')
})

test('Interface: Skills, rule 4: changing or deleting a skill does not change agents that have it', async () => {
  const [agent, skill] = [await newAgent(), await newSkill({ content: 'v1' })]
  const { agent: attached } = await attach(agent, { skill_id: skill.id })
  await done('ana', `PATCH /api/v1/skills/${skill.id}`, { content: 'v2' })
  assert.deepEqual((await attach(agent, { skill_id: skill.id })).agent, attached, 'attaching again neither')
  await done('ana', `DELETE /api/v1/skills/${skill.id}`, undefined, 204)
  assert.deepEqual(await done('ana', `GET /api/agents/${agent.id}`), attached)
  assert.equal((await detach(agent, `?skill_id=${skill.id}`)).agent.system, 'Base.')
})

test('attaching a skill again adds no block, no version and no audit entry', async () => {
  const [agent, skill] = [await newAgent(), await newSkill()]
  const first = await attach(agent, { skill_id: skill.id })
  assert.deepEqual(await attach(agent, { skill_id: skill.id }), first)
  assert.deepEqual(await actionsOf(agent.id), ['agent.create', 'agent.attach_skill'])
})

test('skill_id takes precedence over inline content, and a request without either is 400', async () => {
  const [agent, skill] = [await newAgent(), await newSkill()]
  const both = await attach(agent, { skill_id: skill.id, content: '', name: '', save_to_library: false })
  assert.deepEqual(both.skill, skill)
  for (const [body, message] of [
    [{}, /skill_id or content/],
    [{ name: 'N' }, /skill_id or content/],
    [{ content: ' \n' }, /^content must not be blank/],
    [{ content: 'c', name: ' ' }, /^name must not be blank/],
    [{ content: 'é'.repeat(131_073) }, /^content must have at most 262144 bytes/],
    [{ skill_id: '' }, /skill_id/],
    [{ skill_id: 7 }, /skill_id/],
    [{ content: 'c', save_to_library: 'no' }, /save_to_library/],
  ] as const) {
    const answer = await call('ana', `POST ${skillPath(agent)}`, body)
    assert.equal(answer.statusCode, 400, answer.body)
    assert.match(answer.json<{ error: string }>().error, message)
  }
  assert.equal((await done<Agent>('ana', `GET /api/agents/${agent.id}`)).version, 2)
})

test('an unknown skill or agent, or one of another caller, is 404 and changes nothing', async () => {
  const [agent, skill] = [await newAgent(), await newSkill()]
  for (const [caller, path, body, message] of [
    ['ana', skillPath(agent), { skill_id: 'skill_nothing' }, 'skill skill_nothing not found'],
    ['label', skillPath(agent), { skill_id: skill.id }, `skill ${skill.id} not found`],
    ['ana', skillPath({ id: 'agent_nothing' }), { skill_id: skill.id }, 'agent agent_nothing not found'],
    ['ana', skillPath({ id: 'agent_nothing' }), { content: 'Inline.' }, 'agent agent_nothing not found'],
    ['bo', skillPath(agent), { content: 'Inline.' }, `agent ${agent.id} not found`],
  ] as const) {
    const answer = await call(caller, `POST ${path}`, body)
    assert.deepEqual([answer.statusCode, answer.json()], [404, { error: message }])
  }
  assert.deepEqual((await done<{ data: Skill[] }>('bo', 'GET /api/v1/skills')).data, [], 'nothing is half done')
  assert.deepEqual(await done('ana', `GET /api/agents/${agent.id}`), agent)
})

test('an invalid field is 400 and named in the message', async () => {
  const { id } = await newSkill()
  const fine = { name: 'N', content: 'C' }
  for (const [body, field] of [
    [{ ...fine, name: ' ' }, 'name'],
    [{ ...fine, name: 'x'.repeat(201) }, 'name'],
    [{ ...fine, content: '\n' }, 'content'],
    [{ ...fine, content: null }, 'content'],
    [{ ...fine, content: 'x'.repeat(262_145) }, 'content'],
    [{ ...fine, content: 'é'.repeat(131_073) }, 'content'],
    [{ ...fine, description: 1 }, 'description'],
  ] as const) {
    for (const line of ['POST /api/v1/skills', `PATCH /api/v1/skills/${id}`]) {
      const answer = await call('ana', line, body)
      assert.equal(answer.statusCode, 400, `${line} ${field}: ${answer.body}`)
      assert.match(answer.json<{ error: string }>().error, new RegExp(`^${field}\\b`))
    }
  }
  for (const field of ['name', 'content'] as const) {
    const { [field]: _, ...without } = fine
    assert.match((await call('ana', 'POST /api/v1/skills', without)).body, new RegExp(field))
  }
})

test('DELETE without skill_id strips all blocks; without skills it is 200 with the unchanged agent', async () => {
  const base = 'Base.\r\n\n with trailing space \n\n'
  const agent = await newAgent(base)
  const [one, two] = [await newSkill({ content: '\n\nodd\n\n' }), await newSkill({ content: 'two' })]
  await attach(agent, { skill_id: one.id })
  await attach(agent, { skill_id: two.id })
  await attach(agent, { content: 'ephemeral', save_to_library: false })
  const { agent: bare, ...rest } = await detach(agent)
  assert.deepEqual([bare.system, bare.version, rest], [base, 5, {}])
  assert.deepEqual(await detach(agent), { agent: bare })
  assert.deepEqual(await detach(agent, `?skill_id=${one.id}`), { agent: bare })
  assert.deepEqual((await actionsOf(agent.id)).at(-1), 'agent.detach_skill')
  assert.equal((await call('bo', `DELETE ${skillPath(agent)}`)).statusCode, 404)
})

test('POST /api/v1/skills/import creates a skill from a SKILL.md file', async () => {
  const text = '---\nname: terse\ndescription: Use it for short answers.\n---\n\n# Terse\n\nBe terse.\n'
  const { id, created_at: _, ...rest } = await done<Skill>('ana', 'POST /api/v1/skills/import', { text }, 201)
  assert.deepEqual(rest, {
    name: 'terse',
    description: 'Use it for short answers.',
    content: '# Terse\n\nBe terse.',
  })
  assert.deepEqual(await actionsOf(id), ['skill.import'])
  const refused = await call('ana', 'POST /api/v1/skills/import', { text: '# no front matter' })
  assert.deepEqual([refused.statusCode, refused.json<{ error: string }>().error.slice(0, 4)], [400, 'text'])
})

test('no audit entry contains the content of a skill', async () => {
  const secret = 'instructions-that-only-the-owner-reads'
  const [agent, skill] = [await newAgent(), await newSkill({ content: secret })]
  await attach(agent, { skill_id: skill.id })
  await attach(agent, { content: secret })
  await detach(agent)
  const { rows } = await database.pool.query<{ row: string }>('select row_to_json(a)::text as row from audit_log a')
  assert.ok(rows.length > 4)
  assert.ok(!rows.some(({ row }) => row.includes(secret)))
})
