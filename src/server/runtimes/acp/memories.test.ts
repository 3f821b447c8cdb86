import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acpRig, doing, fakeNamed } from '../../../../test/support/acp/acp-rig.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { NewEvent } from '../../../contract/events.ts'
import type { Caller } from '../../http/caller.ts'
import type { RunSession } from '../runtime.ts'
import { programKind, setupOf } from './programs.ts'

interface Server {
  readonly type: string
  readonly name: string
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

const said = (log: readonly NewEvent[]): string =>
  log
    .filter(({ type }) => type === 'agent.message')
    .flatMap(({ content }) => (content as { text: string }[]).map(({ text }) => text))
    .join('')

/** The servers that a program got, as it reports them. */
async function handed(session: Partial<RunSession>, fake: object = { http: true }): Promise<Server[]> {
  const { runtime } = await acpRig({ fake })
  const rig = runRig(sessionWith(session))
  await rig.run(runtime, promptOf(doing({ tell: 'servers' })))
  return JSON.parse(said(rig.log))
}

test('a program gets the memory server of its session’s agent, with the key of its run', async () => {
  const [server = assert.fail('none'), ...others] = await handed({ agent_id: 'agent_1' })
  assert.deepEqual([server.type, server.name, others], ['http', 'switchyard', []])
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/managed_agents\/agents\/agent_1\/mcp$/)
  assert.deepEqual(
    server.headers.map(({ name, value }) => [name, value.slice(0, 14)]),
    [['Authorization', 'Bearer sk-run-']],
  )
})

test('a program gets no memory server without an agent, without memory tools, or without support for HTTP', async () => {
  assert.deepEqual(await handed({}), [])
  assert.deepEqual(await handed({ agent_id: 'agent_1', tools: [{ type: 'bash' }] }), [])
  const denied = { save_memory: { permission_policy: 'always_deny' }, search_memory: false }
  assert.deepEqual(await handed({ agent_id: 'agent_1', tools: denied }), [])
  assert.deepEqual(await handed({ agent_id: 'agent_1' }, {}), [])
})

for (const way of ['load', 'resume'] as const) {
  test(`a new process that resumes a conversation with session/${way} gets the server with its own key`, async () => {
    const { runtime } = await acpRig({ fake: { http: true, [way]: true } })
    const rig = runRig(sessionWith({ agent_id: 'agent_1' }))
    await rig.run(runtime, promptOf(doing({ tell: 'servers' }, { exit: 1 })))
    const before = said(rig.log)
    await rig.run(runtime, promptOf(doing({ tell: 'servers' })))
    const after = said(rig.log).slice(before.length)
    const keyIn = (text: string) => /Bearer sk-run-[\w-]+/.exec(text)?.[0]
    assert.ok(keyIn(after))
    assert.notEqual(keyIn(after), keyIn(before))
  })
}

test('a program in the sandbox reaches the server, on behalf of the run and for the tools of the agent', {
  skip: lack('bubblewrap') || lack('socat'),
}, async () => {
  const calls: { readonly url: string | undefined; readonly caller: Caller }[] = []
  const { runtime } = await acpRig({
    isolation: 'sandbox',
    fake: { http: true },
    serve({ url }, response, caller) {
      calls.push({ url, caller })
      response.end('from the service')
    },
  })
  const rig = runRig(sessionWith({ agent_id: 'agent_1', tools: { search_memory: false } }))
  await rig.run(runtime, promptOf(doing({ useTool: ['save_memory', { text: 'x' }] })))
  assert.equal(said(rig.log), 'from the service')
  assert.deepEqual(
    calls.map(({ url, caller: { behalf } }) => [
      url,
      behalf?.run.agent_id,
      behalf?.run.session_id,
      behalf?.memoryTools,
    ]),
    [['/api/v1/managed_agents/agents/agent_1/mcp', 'agent_1', rig.session.id, ['save_memory']]],
  )
})

/** What each program tells of a call to a memory tool, before it asks. */
const calls = {
  'claude-agent-acp': {
    kind: 'other',
    title: 'mcp__switchyard__save_memory',
    rawInput: { text: 'x' },
    _meta: { claudeCode: { toolName: 'mcp__switchyard__save_memory' } },
  },
  'codex-acp': {
    kind: 'execute',
    title: 'mcp.switchyard.save_memory',
    rawInput: { server: 'switchyard', tool: 'save_memory', arguments: { text: 'x' } },
  },
}
const ask = { permission_policy: 'always_ask' }

for (const [name, call] of Object.entries(calls)) {
  const answered = async (tools: unknown, told: object, decide = async () => undefined as never) => {
    const { runtime } = await acpRig({ command: await fakeNamed(name) })
    const rig = runRig(sessionWith({ agent_id: 'agent_1', tools }))
    const update = { sessionUpdate: 'tool_call', toolCallId: 'c1', status: 'pending', ...told }
    const question = { toolCallId: 'c1', kind: (told as typeof call).kind }
    await rig.run(runtime, promptOf(doing({ update }, { ask: question })), { decide })
    return said(rig.log).replace(/\[.*?\]/g, '')
  }

  test(`${name}: a call of a memory tool does not ask, although all other calls ask`, async () => {
    assert.equal(await answered({ bash: ask, edit: ask, write: ask }, call), '(yes)')
  })

  test(`${name}: a call of a memory tool asks if the agent’s tools require it`, async () => {
    const asked: string[] = []
    const decide = async () => {
      asked.push('somebody')
      return { result: 'deny', message: undefined } as never
    }
    assert.equal(await answered({ save_memory: ask }, call, decide), '(no)')
    assert.deepEqual(asked, ['somebody'])
  })

  test(`${name}: a memory tool that the agent does not have is denied`, async () => {
    assert.equal(await answered([{ type: 'bash' }, { type: 'search_memory' }], call), '(no)')
  })
}

test('a call that only resembles one of a memory tool gets the policy of its kind', () => {
  const memoryTool = (program: string, call: object) => {
    const name = programKind([program]).mcpCall?.({ ...call })?.name
    return name?.startsWith('switchyard__') ? name : undefined
  }
  const named = { title: 'mcp__switchyard__save_memory', rawInput: { command: 'mcp__switchyard__save_memory' } }
  assert.equal(memoryTool('claude-agent-acp', { ...named, _meta: { claudeCode: { toolName: 'Bash' } } }), undefined)
  assert.equal(memoryTool('claude-agent-acp', { rawInput: { server: 'switchyard', tool: 'save_memory' } }), undefined)
  assert.equal(memoryTool('codex-acp', { ...named, title: 'mcp.switchyard.save_memory' }), undefined)
  assert.equal(memoryTool('codex-acp', { rawInput: { server: 'other', tool: 'save_memory' } }), undefined)
  assert.equal(memoryTool('any-program', calls['codex-acp']), undefined)
})

test('programs whose permission requests name no tool get rules for memory tools that need no permission', () => {
  const folders = { workspace: '/w', home: '/h', sockets: '/s' }
  const surroundings = { gatewayUrl: 'http://g', gatewayKey: 'k', folders, isolation: 'sandbox' } as const
  const memories = { agentId: 'agent_1', tools: { save_memory: 'ask', search_memory: 'allow' } } as const
  const mcpServers = [{ name: 'wiki', url: undefined, tools: { look: 'allow' } }] as const
  const filesOf = (program: string) =>
    setupOf({ command: [program] }, surroundings, { model: 'm', needsApproval: true, memories, mcpServers })
      .homeFiles ?? {}
  const { permission } = JSON.parse(filesOf('opencode')['.config/opencode/opencode.json'] ?? '')
  assert.deepEqual(Object.entries(permission), [
    ['*', 'ask'],
    ['switchyard_save_memory', 'ask'],
    ['switchyard_search_memory', 'allow'],
    ['wiki_look', 'allow'],
  ])
  const rules = filesOf('gemini')['.gemini/policies/switchyard.toml'] ?? ''
  assert.match(rules, /mcpName = "switchyard"\ntoolName = "search_memory"/)
  assert.match(rules, /mcpName = "wiki"\ntoolName = "look"/)
  assert.doesNotMatch(rules, /save_memory/)
})
