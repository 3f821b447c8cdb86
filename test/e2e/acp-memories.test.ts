import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { Memory } from '../../src/contract/memories.ts'
import type { Session } from '../../src/contract/sessions.ts'
import {
  checkInstalled,
  realPrograms,
  reasonOf,
  skipPrograms,
  startProgramService,
} from '../support/acp/acp-programs.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const factOf = (alias: string) => `The door of ${alias} is painted blue.`

/** Each program has its own name for the tool. Its side questions, such as for a title, offer no tools. */
const offered = (body: string): string | undefined => /"name":"(\w*switchyard\w*save_memory)"/.exec(body)?.[1]

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const name = offered(body)
  const alias = /KEEP-([\w-]+)/.exec(body)?.[1]
  if (name === undefined || alias === undefined) return { text: 'ok' }
  if (body.includes('saved as mem_')) return { text: 'It is kept.' }
  return { text: 'I keep it.', tool_calls: [{ name, input: { text: factOf(alias) } }] }
}

const { upstream, ok, request: ask, settled } = await startProgramService(script)
/** All that the programs can do by themselves asks. */
const careful = Object.fromEntries(
  ['bash', 'edit', 'write', 'read', 'glob', 'grep'].map(name => [name, { permission_policy: 'always_ask' }]),
)

for (const [alias, program] of Object.entries(realPrograms)) {
  test(`${program.title} (${program.api_spec}) saves a memory without asking, and the agent’s next session is shown it`, {
    skip: skipPrograms,
  }, async () => {
    checkInstalled(program)
    const agent = await ok<Agent>('POST /api/agents', { name: alias, owner_id: 'team', runtime: alias, tools: careful })
    const { id } = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
    await ask(id, `Keep what you were told. KEEP-${alias}`)
    const log = await settled(id)
    const told = JSON.stringify(log, null, 1)
    assert.equal(reasonOf(log.at(-1)), 'end_turn', told)
    const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}`)
    assert.deepEqual(approvals, [])
    const memories = await ok<Memory[]>(`GET /api/v1/managed_agents/agents/${agent.id}/memory`)
    assert.deepEqual(
      memories.map(({ text, source, session_id, created_by }) => [text, source, session_id, created_by]),
      [[factOf(alias), 'agent', id, 'master']],
      told,
    )
    const results = log.filter(({ type }) => type === 'agent.tool_result')
    assert.deepEqual(
      results.map(event => event['is_error'] ?? false),
      [false],
      told,
    )

    const next = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
    await ask(next.id, `Good morning. LATER-${alias}`)
    await settled(next.id)
    const shown = upstream.requests
      .map(({ rawBody }) => rawBody.toString())
      .filter(body => body.includes(`LATER-${alias}`))
    assert.ok(
      shown.some(body => body.includes('<memories>') && body.includes(factOf(alias))),
      shown.join('\n'),
    )
  })
}
