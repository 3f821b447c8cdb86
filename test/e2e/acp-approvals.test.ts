import assert from 'node:assert/strict'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { Session } from '../../src/contract/sessions.ts'
import {
  checkInstalled,
  realPrograms,
  reasonOf,
  skipPrograms,
  startProgramService,
  writing,
} from '../support/acp/acp-programs.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const fileText = 'written with leave\n'

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const call = writing(body, { text: fileText, asks: true })
  // Side questions, such as for a title, offer no tools.
  if (!call || !body.includes('WRITE-IT')) return { text: 'ok' }
  return body.includes('May I write?') ? { text: 'I am done.' } : { text: 'May I write?', tool_calls: [call] }
}

const { service, ok, request: ask, settled, logWhen } = await startProgramService(script)

for (const [alias, program] of Object.entries(realPrograms))
  for (const result of ['allow', 'deny'] as const) {
    test(`${program.title} (${program.api_spec}) asks before a command that always asks, and obeys when a person answers ${result}`, {
      skip: skipPrograms,
    }, async () => {
      checkInstalled(program)
      const tools = { bash: { permission_policy: { type: 'always_ask' } } }
      const agent = await ok<Agent>('POST /api/agents', { name: alias, owner_id: 'team', runtime: alias, tools })
      const { id } = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
      await ask(id, 'Write the file. WRITE-IT')
      const pendingOf = async () =>
        (await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}&state=pending`)).approvals
      await logWhen(id, async () => (await pendingOf()).length > 0, 'a question')
      const [question = assert.fail(), ...others] = await pendingOf()
      assert.deepEqual([others, question.agent_id], [[], agent.id])
      assert.match(JSON.stringify(question.input), /work\.txt/)
      const file = join(service.dataDir, 'workspaces', id, 'work.txt')
      await assert.rejects(access(file), 'nothing is done before the answer')

      await ok(`POST /api/approvals/${question.id}`, { result, digest: question.digest })
      const log = await settled(id)
      const told = JSON.stringify(log, null, 1)
      assert.equal(reasonOf(log.at(-1)), 'end_turn', told)
      if (result === 'allow') assert.equal(await readFile(file, 'utf8'), fileText, told)
      else await assert.rejects(access(file), told)
      const uses = log.filter(({ type }) => type === 'agent.tool_use')
      const results = log.filter(({ type }) => type === 'agent.tool_result')
      assert.deepEqual(
        results.map(event => [event['tool_use_id'], event['is_error'] ?? false]),
        uses.map(event => [event['tool_use_id'], result === 'deny']),
        told,
      )
      assert.deepEqual(await pendingOf(), [])
    })
  }
