import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { Skill } from '../../src/contract/skills.ts'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()

async function done<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.json<T>()
}

/** The agent's own prompt, as the upstream gets it in the first request of a new session. */
async function promptSeen(agent: Agent): Promise<string> {
  const { id } = await done<Session>('POST /session', { agent_id: agent.id })
  const parts = [{ type: 'text', text: 'hello' }]
  await done(`POST /session/${id}/message`, { model: { modelID: 'scripted' }, parts })
  const system = upstream.requests.at(-1)?.body['system'] as { text: string }[] | undefined
  return system?.[0]?.text ?? assert.fail('the request had no system prompt')
}

test('a skill that is attached is in the prompt that the model gets; detaching it restores the prompt exactly', async () => {
  const base = 'You are Ada.\n\n  Mind the spaces. \n<!-- a comment of my own -->\n\n'
  const agent = await done<Agent>('POST /api/agents', { name: 'Ada', owner_id: 'team', system: base })
  const skill = await done<Skill>('POST /api/v1/skills', { name: 'Terse', content: '# Terse\n\nBe terse.\n' })
  const path = `/api/v1/managed_agents/agents/${agent.id}/skill`
  assert.equal(await promptSeen(agent), base)

  await done(`POST ${path}`, { skill_id: skill.id })
  const withSkill = `${base}\n\n<!-- skill:${skill.id} -->\n# Terse\n\nBe terse.\n`
  assert.equal(await promptSeen(agent), withSkill)

  await done(`POST ${path}`, { content: 'Only here. <!-- skill:fake -->', save_to_library: false })
  const seen = await promptSeen(agent)
  assert.ok(seen.startsWith(withSkill) && seen.endsWith('Only here. <!-- skill&#58;fake -->'), seen)

  await done(`PATCH /api/v1/skills/${skill.id}`, { content: 'Be very terse.' })
  assert.equal(await promptSeen(agent), seen, 'the library changes no agent')
  await done(`POST /api/v1/skills/${skill.id}/upgrade`)
  assert.equal(await promptSeen(agent), seen.replace('# Terse\n\nBe terse.\n', 'Be very terse.'))

  await done(`DELETE ${path}?skill_id=${skill.id}`)
  assert.match(await promptSeen(agent), /^You are Ada[\s\S]*Only here/)
  await done(`DELETE ${path}`)
  assert.equal(await promptSeen(agent), base)
})

test('a session that runs continues with the prompt that it was made with', async () => {
  const agent = await done<Agent>('POST /api/agents', { name: 'Ada', owner_id: 'team', system: 'Base.' })
  const { id } = await done<Session>('POST /session', { agent_id: agent.id })
  await done(`POST /api/v1/managed_agents/agents/${agent.id}/skill`, { content: 'Later.' })
  const message = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: 'hello' }] }
  await done(`POST /session/${id}/message`, message)
  assert.doesNotMatch(JSON.stringify(upstream.requests.at(-1)?.body['system']), /Later/)
})
