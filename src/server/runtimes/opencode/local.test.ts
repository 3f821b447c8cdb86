import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, test } from 'node:test'
import type { FakeStep } from '../../../../test/support/opencode/opencode-turn.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { BudgetReached } from '../../../contract/events.ts'
import type { Caller, GrantedServer } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { createLog } from '../../platform/log.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { pause } from '../../platform/timers.ts'
import { countRunning, sandboxesForTests } from '../../sandboxes/sandboxes-for-tests.ts'
import { createLocalPrograms } from '../local/programs.ts'
import type { RunSession, Runtime, RuntimeEndpoint } from '../runtime.ts'
import { opencodeKind } from './kind.ts'
import { permissionsOf, setupOf } from './settings.ts'

const program = join(import.meta.dirname, '../../../../test/support/opencode/opencode-fake-main.ts')

interface Called {
  readonly body: Record<string, unknown>
  readonly caller: Caller
}

interface Options {
  readonly turns?: readonly (readonly FakeStep[])[]
  readonly endsWith?: string
  /** MCP servers of the session's agent. */
  readonly mcpServers?: readonly GrantedServer[]
  /** Status of the gateway; 200 by default. */
  readonly answer?: (called: Called) => number
}

/** The runtime with the fake as its program, in a separate folder. */
async function localRig({ answer = () => 200, mcpServers = [], ...fake }: Options = {}) {
  const sandboxes = await sandboxesForTests('virtual')
  const calls: Called[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse, caller: Caller) => {
    const called = { body: (await json(request)) as Record<string, unknown>, caller }
    calls.push(called)
    response.writeHead(answer(called)).end('{}')
  }
  const log = createLog('silent')
  const mark = `mark-${randomUUID()}`
  const kind = opencodeKind({
    outbound: createOutbound({ allow: [] }),
    memories: { block: async () => '' },
    log,
    wait: (ms, signal) => pause(ms / 20, signal),
    local: {
      programs: createLocalPrograms({ sandboxes, serve: (...of) => void serve(...of), log }),
      sandboxes,
      markSandboxRunning: async () => undefined,
      mcp: { granted: async () => ({ servers: mcpServers, warnings: [] }) },
    },
  })
  const endpoint: RuntimeEndpoint = {
    id: 'own',
    apiBase: '',
    apiKey: undefined,
    command: ['node', program, mark],
    env: { FAKE: JSON.stringify(fake) },
    isolation: 'none',
  }
  const runtime = kind.connect(endpoint) as Runtime & { close(): Promise<void> }
  after(() => runtime.close())
  return { kind, endpoint, runtime, calls, running: () => countRunning(`${mark} serve`) }
}

/** An agent's `tools`. */
const bashAsks = { bash: { permission_policy: 'ask' } }

const messagesOf = (rig: ReturnType<typeof runRig>) => messagesIn(rig.log)
const endOf = (rig: ReturnType<typeof runRig>) => rig.log.at(-1)?.stop_reason ?? rig.log.at(-1)?.error

test('a local server calls the gateway for the run, with the model of the prompt and the rules of the agent', async () => {
  const { runtime, calls } = await localRig({ turns: [[{ callsModel: true, text: ['Done.'] }]] })
  const rig = runRig(sessionWith({ tools: bashAsks }))
  const prompt = promptOf('Go', { model: 'anthropic/opus' })
  await rig.run(runtime, prompt)
  assert.deepEqual([messagesOf(rig), endOf(rig)], [['Done.'], { type: 'end_turn' }])
  const [{ body, caller } = assert.fail('it was not called')] = calls
  assert.equal(body['model'], 'switchyard/anthropic/opus')
  assert.deepEqual(body['permission'], { ...permissionsOf([]), '*': 'ask', bash: 'ask' })
  assert.deepEqual(
    [caller.principal, caller.behalf?.run.session_id, caller.behalf?.run.prompt_id],
    ['ada', rig.session.id, prompt.id],
  )
})

test('a server gets the memory tools of its session’s agent at the gateway; without an agent it gets none', async () => {
  const turns = [[{ callsModel: true, text: ['Done.'] }]]
  const mcpOf = async (changes: Partial<RunSession>) => {
    const { runtime, calls } = await localRig({ turns })
    await runRig(sessionWith(changes)).run(runtime, promptOf('Go'))
    return calls[0]?.body['mcp'] as { switchyard: { type: string; url: string; headers: Headers } } | undefined
  }
  type Headers = Record<string, string>
  const { switchyard = assert.fail('no server') } = (await mcpOf({ agent_id: 'agent_1', tools: bashAsks })) ?? {}
  assert.equal(switchyard.type, 'remote')
  assert.match(switchyard.url, /^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/managed_agents\/agents\/agent_1\/mcp$/)
  assert.match(switchyard.headers['Authorization'] ?? '', /^Bearer sk-run-/)
  assert.equal(await mcpOf({}), undefined)
  assert.equal(await mcpOf({ agent_id: 'agent_1', tools: [{ type: 'bash' }] }), undefined)
})

test('the memory tools follow the agent’s rules, whatever the default rule is', () => {
  const memoryRules = (tools: unknown) => {
    const rules = permissionsOf(tools)
    return [rules['switchyard_save_memory'], rules['switchyard_search_memory']]
  }
  assert.deepEqual(memoryRules(bashAsks), ['allow', 'allow'])
  assert.deepEqual(memoryRules({ save_memory: { permission_policy: 'ask' } }), ['ask', 'allow'])
  assert.deepEqual(memoryRules([{ type: 'bash' }]), ['deny', 'deny'])
})

test('a session has one server; another model restarts it, and the conversation stays', async () => {
  const { runtime, calls, running } = await localRig({
    turns: [[{ callsModel: true, text: ['One.'] }], [{ callsModel: true, text: ['Two.'] }]],
  })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go', { model: 'first' }))
  await rig.run(runtime, promptOf('Go', { model: 'second' }))
  assert.deepEqual(messagesOf(rig), ['One.', 'Two.'])
  assert.deepEqual(
    calls.map(({ body }) => body['model']),
    ['switchyard/first', 'switchyard/second'],
  )
  assert.equal(await running(), 1)
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(await running(), 0)
})

const reached: BudgetReached = {
  type: 'budget_reached',
  scope: 'session',
  scope_id: 'ses_1',
  max_usd: 1,
  needed_usd: 2,
  resets_at: null,
}

test('a budget without room stops the turn, which continues once the budget has room', async () => {
  let hasRoom = false
  const answer = ({ caller }: Called) => {
    if (hasRoom) return 200
    caller.behalf?.onRejected(new AppError('budget_exceeded', 'the budget is used up', { cause: reached }))
    return 402
  }
  const steps = [{ text: ['I begin.'] }, { callsModel: true, text: ['Never.'] }]
  const { runtime } = await localRig({ answer, turns: [steps, [{ callsModel: true, text: ['Done.'] }]] })
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt)
  assert.deepEqual(endOf(rig), reached)
  hasRoom = true
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(messagesOf(rig), ['I begin.', 'Done.'])
  assert.deepEqual(endOf(rig), { type: 'end_turn' })
})

test('a turn whose server ended with its process resumes on a new one, with an instruction that says so', async () => {
  const tools = [{ name: 'bash', input: { command: 'ls' } }]
  const { runtime, endpoint, kind } = await localRig({
    turns: [[{ text: ['I run it.'], tools, hold: 'in tool' }], [{ callsModel: true, text: ['Done.'] }]],
  })
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { onBatch: events => events.some(({ type }) => type === 'agent.tool_use') })
  await (runtime as Runtime & { close(): Promise<void> }).close()
  const next = kind.connect(endpoint) as Runtime & { close(): Promise<void> }
  after(() => next.close())
  await rig.run(next, prompt, { isResumed: true })
  assert.deepEqual(messagesOf(rig), ['I run it.', 'Done.'])
  assert.deepEqual(rig.types(), [
    'session.status_running',
    'agent.message',
    'agent.tool_use',
    'agent.tool_result',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ])
})

test('stopping a run stops the work of the server, and the next prompt runs', async () => {
  const { runtime } = await localRig({
    turns: [[{ text: ['One.'] }, { text: ['No.'], hold: 'before' }], [{ text: ['Two.'] }]],
  })
  const rig = runRig()
  const stop = new AbortController()
  const run = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => messagesOf(rig).length === 1)
  stop.abort()
  await run
  await rig.run(runtime, promptOf('Go on'))
  assert.deepEqual(messagesOf(rig), ['One.', 'Two.'])
})

test('a program that exits before it listens fails the run with its last output', async () => {
  const { runtime, kind, endpoint } = await localRig({ endsWith: 'no such option' })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match((endOf(rig) as { message: string }).message, /opencode exited before it listened \(3\): no such option/)
  await assert.rejects(kind.check(endpoint, AbortSignal.timeout(20_000)), /no such option/)
})

test('a check starts the program once and removes everything afterwards', async () => {
  const { kind, endpoint, running } = await localRig()
  await kind.check(endpoint, AbortSignal.timeout(20_000))
  assert.equal(await running(), 0)
})

test('the workspace cannot loosen the rules of an agent', () => {
  const surroundings = { gatewayUrl: '', gatewayKey: '', folders: { workspace: '', home: '', sockets: '' } }
  const envFor = (tools: unknown) => {
    const task = {
      model: 'm',
      permission: permissionsOf(tools),
      memories: undefined,
      mcpServers: [],
      port: 1,
      password: '',
    }
    return setupOf({ command: ['opencode'] }, { ...surroundings, isolation: 'none' }, task).env
  }
  assert.equal(envFor([])['OPENCODE_DISABLE_PROJECT_CONFIG'], undefined)
  for (const asks of [bashAsks, { save_memory: { permission_policy: 'ask' } }])
    assert.equal(envFor(asks)['OPENCODE_DISABLE_PROJECT_CONFIG'], '1')
})

test('the rules of an agent are passed to its server', () => {
  assert.deepEqual(permissionsOf([]), {
    '*': 'allow',
    bash: 'allow',
    read: 'allow',
    edit: 'allow',
    glob: 'allow',
    grep: 'allow',
    switchyard_save_memory: 'allow',
    switchyard_search_memory: 'allow',
    question: 'deny',
  })
  const some = permissionsOf([{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', enabled: false }] }])
  assert.equal(some['bash'], 'deny')
  assert.equal(some['*'], 'ask', 'what cannot be named has to be asked for')
})
