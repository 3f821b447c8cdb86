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

/** The last prompt names what is tried; what the model said about it is in the requests after it. */
function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const call = writing(body, { text: fileText, asks: true })
  const attempt = [...body.matchAll(/ATTEMPT-(\w+)/g)].at(-1)?.[1]
  // Side questions, such as for a title, offer no tools.
  if (!call || attempt === undefined) return { text: 'ok' }
  return body.includes(question(attempt)) ? { text: 'I am done.' } : { text: question(attempt), tool_calls: [call] }
}
const question = (attempt: string) => `May I ${attempt}?`

const { service, ok, request: ask, settled, logWhen } = await startProgramService(script)

for (const [alias, program] of Object.entries(realPrograms))
  test(`${program.title} (${program.api_spec}) asks before a command that always asks, and obeys when a person denies and allows it`, {
    skip: skipPrograms,
  }, async () => {
    checkInstalled(program)
    const tools = { bash: { permission_policy: { type: 'always_ask' } } }
    const agent = await ok<Agent>('POST /api/agents', { name: alias, owner_id: 'team', runtime: alias, tools })
    const { id } = await ok<Session>('POST /session', { agent_id: agent.id, runtime: alias })
    const file = join(service.dataDir, 'workspaces', id, 'work.txt')
    const pendingOf = async () =>
      (await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}&state=pending`)).approvals
    let seen = 0
    // One program serves both prompts: it is kept warm between them.
    for (const result of ['deny', 'allow'] as const) {
      await ask(id, `Write the file. ATTEMPT-${result}`)
      await logWhen(id, async () => (await pendingOf()).length > 0, 'a question')
      const [pending = assert.fail(), ...others] = await pendingOf()
      assert.deepEqual([others, pending.agent_id], [[], agent.id])
      assert.match(JSON.stringify(pending.input), /work\.txt/)
      await assert.rejects(access(file), 'nothing is done before the answer')

      await ok(`POST /api/approvals/${pending.id}`, { result, digest: pending.digest })
      const log = await settled(id)
      const turn = log.filter(({ seq }) => seq > seen)
      seen = log.at(-1)?.seq ?? 0
      const told = JSON.stringify(turn, null, 1)
      assert.equal(reasonOf(turn.at(-1)), 'end_turn', told)
      if (result === 'allow') assert.equal(await readFile(file, 'utf8'), fileText, told)
      else await assert.rejects(access(file), told)
      const uses = turn.filter(({ type }) => type === 'agent.tool_use')
      const results = turn.filter(({ type }) => type === 'agent.tool_result')
      assert.deepEqual(
        results.map(event => [event['tool_use_id'], event['is_error'] ?? false]),
        uses.map(event => [event['tool_use_id'], result === 'deny']),
        told,
      )
      assert.deepEqual(await pendingOf(), [])
    }
  })
