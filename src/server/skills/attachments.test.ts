import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { skillPath, startSkillsApp } from '../../../test/support/sessions/skills-app.ts'
import type { Agent } from '../../contract/agents.ts'

const database = await freshDatabase()
const { call, done, newSkill, newAgent, attach, detach, actionsOf } = startSkillsApp(database)

test('a rollback restores the skills of the version', async () => {
  const [agent, skill] = [await newAgent(), await newSkill({ content: 'ends\n\n' })]
  await attach(agent, { skill_id: skill.id })
  await detach(agent)
  const back = await done<Agent>('ana', `POST /api/agents/${agent.id}/versions/2/rollback`)
  assert.match(back.system, /ends/)
  assert.equal('skills' in back, false, 'the record of the blocks is not shown')
  assert.equal((await detach(agent)).agent.system, 'Base.')
})

test('a replaced prompt has no skills, and each can be attached again', async () => {
  const [agent, skill] = [await newAgent(), await newSkill()]
  const { agent: attached } = await attach(agent, { skill_id: skill.id })
  const patch = (system: string) =>
    done<Agent>('ana', `PATCH /api/agents/${agent.id}`, { name: 'Ada', owner_id: 'ana', system })
  await patch(attached.system.replace('terse', 'very terse'))
  assert.equal((await detach(agent)).agent.system, 'Base.', 'an edited block goes as a whole')
  await attach(agent, { skill_id: skill.id })
  await patch('New.')
  assert.equal((await attach(agent, { skill_id: skill.id })).agent.system, attached.system.replace('Base.', 'New.'))
})

test('twenty skills attached concurrently are twenty versions, and all can be detached', async () => {
  const agent = await newAgent()
  const made = await Promise.all(Array.from({ length: 20 }, (_, at) => newSkill({ content: `content ${at}` })))
  await Promise.all(made.flatMap(({ id }) => [attach(agent, { skill_id: id }), attach(agent, { skill_id: id })]))
  const { data } = await done<{ data: { id: string }[] }>('ana', `GET ${skillPath(agent)}`)
  assert.deepEqual(data.map(({ id }) => id).sort(), made.map(({ id }) => id).sort())
  assert.equal((await done<Agent>('ana', `GET /api/agents/${agent.id}`)).version, 21)
  await Promise.all(made.map(({ id }) => detach(agent, `?skill_id=${id}`)))
  const { system, version } = await done<Agent>('ana', `GET /api/agents/${agent.id}`)
  assert.deepEqual([system, version], ['Base.', 41])
})

test('an inline skill is saved with the change of the agent, or not at all', async () => {
  const agent = await newAgent('x'.repeat(999_990))
  const before = await done('ana', 'GET /api/v1/skills?limit=200')
  const answer = await call('ana', `POST ${skillPath(agent)}`, { content: 'Too much.' })
  assert.equal(answer.statusCode, 400)
  assert.match(answer.body, /system prompt would have more than 1000000 characters/)
  assert.deepEqual(await done('ana', 'GET /api/v1/skills?limit=200'), before)
})

test('an agent can have at most a hundred skills', async () => {
  const agent = await newAgent()
  for (let at = 0; at < 100; at++) await attach(agent, { content: `c${at}`, save_to_library: false })
  const answer = await call('ana', `POST ${skillPath(agent)}`, { content: 'one more' })
  assert.deepEqual(
    [answer.statusCode, answer.json()],
    [400, { error: 'agent has 100 skills, the maximum; detach one first' }],
  )
})

test('the agents with a skill are listed with the state of their copies', async () => {
  const skill = await newSkill({ content: 'v1' }, 'master')
  const [one, two, three] = [await newAgent('1', 'ana'), await newAgent('2', 'bo'), await newAgent('3', 'bo')]
  for (const agent of [one, two]) await attach(agent, { skill_id: skill.id }, 'master')
  const usage = async () => {
    const { data } = await done<{ data: { agent_id: string; state: string }[] }>(
      'master',
      `GET /api/v1/skills/${skill.id}/agents`,
    )
    return data.map(({ agent_id, state }) => [agent_id, state])
  }
  assert.deepEqual(await usage(), [
    [two.id, 'current'],
    [one.id, 'current'],
  ])
  await done('master', `PATCH /api/v1/skills/${skill.id}`, { content: 'v2' })
  const edited = await done<Agent>('master', `GET /api/agents/${two.id}`)
  await done('master', `PATCH /api/agents/${two.id}`, {
    name: 'Bo',
    owner_id: 'bo',
    system: edited.system.replace('v1', 'mine'),
  })
  assert.deepEqual(await usage(), [
    [two.id, 'edited'],
    [one.id, 'outdated'],
  ])
  const { data } = await done<{ data: object[] }>('ana', `GET ${skillPath(one)}`)
  assert.deepEqual(data, [{ id: skill.id, name: 'Terse', state: 'not_in_library' }], 'ana has no such skill')
  assert.deepEqual(await done('bo', `GET ${skillPath(three)}`), { data: [] })
  const page = await done<{ data: object[]; next_cursor: string }>(
    'master',
    `GET /api/v1/skills/${skill.id}/agents?limit=1`,
  )
  assert.equal(page.data.length, 1)
  assert.ok(page.next_cursor)
})

test('one call upgrades the copies, edited ones only with include_edited, and a dry run changes nothing', async () => {
  const skill = await newSkill({ content: 'v1' }, 'label')
  const made = [await newAgent('one'), await newAgent('two', 'bo'), await newAgent('three'), await newAgent('four')]
  const [one, two, three, four] = made as [Agent, Agent, Agent, Agent]
  for (const agent of [one, two, three]) await attach(agent, { skill_id: skill.id }, 'label')
  await attach(one, { content: 'behind', save_to_library: false })
  const read = (agent: Agent) => done<Agent>('master', `GET /api/agents/${agent.id}`)
  await done('master', `PATCH /api/agents/${three.id}`, {
    name: 'Ada',
    owner_id: 'ana',
    system: (await read(three)).system.replace('v1', 'v1.1'),
  })
  await done('label', `PATCH /api/v1/skills/${skill.id}`, { content: 'v2' })
  const upgrade = async (body?: object) => {
    const { data } = await done<{ data: { agent_id: string; state: string }[] }>(
      'label',
      `POST /api/v1/skills/${skill.id}/upgrade`,
      body,
    )
    return Object.fromEntries(data.map(({ agent_id, state }) => [agent_id, state]))
  }
  const before = await Promise.all(made.map(read))
  assert.deepEqual(await upgrade({ dry_run: true }), {
    [one.id]: 'outdated',
    [two.id]: 'outdated',
    [three.id]: 'edited',
  })
  assert.deepEqual(await Promise.all(made.map(read)), before)
  assert.deepEqual(await upgrade({ agent_ids: [two.id, four.id] }), { [two.id]: 'upgraded' })
  assert.deepEqual(await upgrade(), { [one.id]: 'upgraded', [two.id]: 'current', [three.id]: 'edited' })
  const { system, version } = await read(one)
  assert.match(system, /^one\n\n<!-- skill:\S+ -->\nv2\n\n<!-- skill:\S+ -->\nbehind$/)
  assert.equal(version, 4)
  assert.deepEqual(await upgrade({ include_edited: true }), {
    [one.id]: 'current',
    [two.id]: 'current',
    [three.id]: 'upgraded',
  })
  for (const [agent, system] of [
    [one, 'one'],
    [two, 'two'],
    [three, 'three'],
  ] as const)
    assert.equal((await detach(agent, '', 'master')).agent.system, system)
  assert.deepEqual((await actionsOf(two.id)).slice(-2), ['agent.upgrade_skill', 'agent.detach_skill'])
})

test('a scoped caller upgrades only the agents of its owner', async () => {
  const skill = await newSkill({ content: 'v1' }, 'bo')
  const mine = await newAgent('mine', 'bo')
  const { agent } = await attach(mine, { skill_id: skill.id }, 'bo')
  const foreign = await newAgent(agent.system, 'ana')
  await done('bo', `PATCH /api/v1/skills/${skill.id}`, { content: 'v2' })
  const { data } = await done<{ data: { agent_id: string }[] }>('bo', `POST /api/v1/skills/${skill.id}/upgrade`, {})
  assert.deepEqual(
    data.map(({ agent_id }) => agent_id),
    [mine.id],
  )
  assert.deepEqual(await done('ana', `GET /api/agents/${foreign.id}`), foreign)
})

test('a copy is compared with the library, line by line, and all copies are listed', async () => {
  const skill = await newSkill({ content: 'first\nsecond\n<!-- skill:x -->' })
  const [agent, other] = [await newAgent(), await newAgent()]
  await attach(agent, { skill_id: skill.id })
  await attach(other, { content: 'only here', save_to_library: false })
  type Compared = { state: string; copy: string; library: string; lines: { op: string; text: string }[] }
  const path = (id: string) => `GET /api/v1/skills/${skill.id}/agents/${id}`
  const same = await done<Compared>('ana', path(agent.id))
  assert.deepEqual([same.state, same.copy, same.lines], ['current', same.library, []])
  await done('ana', `PATCH /api/v1/skills/${skill.id}`, { content: 'first\n2nd\n<!-- skill:x -->' })
  const { state, copy, library, lines } = await done<Compared>('ana', path(agent.id))
  assert.deepEqual(
    [state, copy, library],
    ['outdated', 'first\nsecond\n<!-- skill:x -->', 'first\n2nd\n<!-- skill:x -->'],
  )
  assert.deepEqual(
    lines.map(({ op, text }) => `${op} ${text}`),
    ['same first', 'removed second', 'added 2nd', 'same <!-- skill:x -->'],
  )
  for (const [caller, id] of [
    ['ana', other.id],
    ['bo', agent.id],
  ] as const)
    assert.equal((await call(caller, path(id))).statusCode, 404)

  type Copies = { data: { agent_id: string; skills: { id: string; state: string }[] }[]; next_cursor: string | null }
  const all = await done<Copies>('ana', 'GET /api/v1/skills/copies?limit=2')
  assert.deepEqual(
    all.data.map(({ agent_id, skills }) => [agent_id, skills.map(({ state }) => state)]),
    [
      [other.id, ['not_in_library']],
      [agent.id, ['outdated']],
    ],
  )
  const seen = await done<Copies>('bo', 'GET /api/v1/skills/copies?limit=200')
  assert.ok(seen.data.every(({ agent_id }) => agent_id !== agent.id))
})
