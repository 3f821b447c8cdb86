import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { promptOf, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { createLog } from '../../platform/log.ts'
import type { Isolation } from '../../sandboxes/sandbox.ts'
import { sandboxesForTests } from '../../sandboxes/sandboxes-for-tests.ts'
import { createProgramMcp } from './program-mcp.ts'
import { createLocalPrograms, type LocalProgram, type Surroundings } from './programs.ts'
import { grantRun } from './run-grant.ts'

const lacking = lack('bubblewrap') || lack('socat')
const isolated = lacking ? undefined : await sandboxesForTests('bubblewrap')
const plain = await sandboxesForTests('virtual')

interface Served {
  readonly url: string | undefined
  readonly caller: Caller
}

interface Options {
  readonly isolation: Isolation
  readonly port?: number
}

let sessions = 0

/** A program that runs a Node script, and the requests that the gateway received from it. */
async function started(script: (surroundings: Surroundings) => string, { isolation, port }: Options) {
  const served: Served[] = []
  const serve = (request: IncomingMessage, response: { end(text: string): unknown }, caller: Caller) => {
    served.push({ url: request.url, caller })
    response.end('served')
  }
  const sandboxes = isolation === 'sandbox' && isolated ? isolated : plain
  const programs = createLocalPrograms({ sandboxes, serve, log: createLog('silent') })
  sessions += 1
  const program = await programs.start({
    sessionId: `ses_${sessions}`,
    isolation,
    ...(port !== undefined && { port }),
    setup: surroundings => ({ command: ['node', '-e', script(surroundings)], env: { NAME: "it's" } }),
  })
  return { program, served }
}

/** Requests a path for each input line, and prints the status. */
const asker = (key: (surroundings: Surroundings) => string) => (surroundings: Surroundings) =>
  `
  require('node:readline').createInterface({ input: process.stdin }).on('line', path =>
    fetch(${JSON.stringify(surroundings.gatewayUrl)} + path, { headers: { 'x-api-key': ${JSON.stringify(key(surroundings))} } })
      .then(answer => console.log(answer.status)))`

async function statusOf(program: LocalProgram, path: string): Promise<string> {
  let line = ''
  const listen = (chunk: Buffer) => {
    line += chunk.toString()
  }
  program.stdout.on('data', listen)
  program.stdin.write(`${path}\n`)
  await eventually(async () => line.endsWith('\n'))
  program.stdout.off('data', listen)
  return line.trim()
}

const grant = (program: LocalProgram, payer: () => Promise<Pick<Caller, 'principal' | 'key'> | undefined>) => {
  const reached: unknown[] = []
  const run = grantRun({
    session: sessionWith({ id: 'ses_x', agent_id: 'agent_x', owner_id: 'ada' }),
    prompt: promptOf('hi', { id: 'msg_x' }),
    context: { runId: 'run_x', payer },
    mcp: createProgramMcp([]),
    onBudgetReached: budget => reached.push(budget),
  })
  return { revoke: program.grant(run), reached }
}

const ofAda = async () => ({ principal: 'ada', key: undefined })

for (const isolation of ['sandbox', 'none'] as const) {
  const when = { skip: isolation === 'sandbox' && lacking }

  test(
    `${isolation}: a program calls the gateway on behalf of the run that is granted to it, and of no other`,
    when,
    async () => {
      const { program, served } = await started(
        asker(({ gatewayKey }) => gatewayKey),
        { isolation },
      )
      assert.equal(await statusOf(program, '/v1/messages'), '403', 'before a run')
      const { revoke } = grant(program, ofAda)
      assert.equal(await statusOf(program, '/v1/messages'), '200')
      revoke()
      assert.equal(await statusOf(program, '/v1/messages'), '403', 'after the run')
      assert.deepEqual(
        served.map(({ url, caller: { principal, role, behalf } }) => [url, principal, role, behalf?.run]),
        [
          [
            '/v1/messages',
            'ada',
            'user',
            { session_id: 'ses_x', agent_id: 'agent_x', owner_id: 'ada', prompt_id: 'msg_x', run_id: 'run_x' },
          ],
        ],
      )
      await program.stop()
    },
  )

  test(`${isolation}: a wrong key, a revoked key and a path that is not for programs are rejected`, when, async () => {
    const wrong = await started(
      asker(() => 'sk-run-wrong'),
      { isolation },
    )
    grant(wrong.program, ofAda)
    assert.equal(await statusOf(wrong.program, '/v1/messages'), '401')
    const right = await started(
      asker(({ gatewayKey }) => gatewayKey),
      { isolation },
    )
    grant(right.program, async () => undefined)
    assert.equal(await statusOf(right.program, '/v1/messages'), '401')
    grant(right.program, () => Promise.reject(new Error('the session has another owner')))
    assert.equal(await statusOf(right.program, '/v1/messages'), '503')
    grant(right.program, ofAda)
    const ofAgent = '/api/v1/managed_agents/agents/agent_x'
    for (const path of [
      '/api/keys',
      '/',
      '/session',
      '/v1betas',
      '/v1/../api/keys',
      `${ofAgent}/memory`,
      `${ofAgent}/mcp/x`,
    ])
      assert.equal(await statusOf(right.program, path), '403', path)
    assert.deepEqual([...wrong.served, ...right.served], [])
    await Promise.all([wrong.program.stop(), right.program.stop()])
  })

  test(`${isolation}: the server reaches the port that a program listens on`, when, async () => {
    const port = 43117
    const { program } = await started(
      () =>
        `require('node:http').createServer((_, answer) => answer.end('from ' + process.env.NAME)).listen(${port}, '127.0.0.1', () => console.log('listening'))`,
      { isolation, port },
    )
    await new Promise(resolve => program.stdout.once('data', resolve))
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      program.connect().then(
        socket =>
          request({ createConnection: () => socket }, resolve)
            .once('error', reject)
            .end(),
        reject,
      )
    })
    assert.equal(await text(answer), "from it's")
    await program.stop()
  })
}

test('a run is notified when a budget rejects a call of its program; other rejections are not reported', async () => {
  const { program } = await started(
    asker(({ gatewayKey }) => gatewayKey),
    { isolation: 'none' },
  )
  const { reached } = grant(program, ofAda)
  const run = grantRun({
    session: sessionWith(),
    prompt: promptOf('hi'),
    context: { runId: 'run_x', payer: ofAda },
    mcp: createProgramMcp([]),
    onBudgetReached: budget => reached.push(budget),
  })
  const caller = await run.caller()
  const budget = {
    type: 'budget_reached',
    scope: 'session',
    scope_id: 'ses_x',
    max_usd: 1,
    needed_usd: 2,
    resets_at: null,
  }
  caller?.behalf?.onRejected(new AppError('rate_limited', 'slower'))
  caller?.behalf?.onRejected(new AppError('budget_exceeded', 'a provider wants money'))
  caller?.behalf?.onRejected(new AppError('budget_exceeded', 'used up', { cause: budget }))
  assert.deepEqual(reached, [budget])
  await program.stop()
})

test('two programs have different keys, and the port of one rejects the key of the other', async () => {
  const first = await started(
    asker(({ gatewayKey }) => gatewayKey),
    { isolation: 'none' },
  )
  const { gatewayKey } = first.program.surroundings
  const second = await started(
    asker(() => gatewayKey),
    { isolation: 'none' },
  )
  grant(second.program, ofAda)
  assert.equal(await statusOf(second.program, '/v1/messages'), '401')
  await Promise.all([first.program.stop(), second.program.stop()])
})

test('a program that is not on this machine is rejected by name', async () => {
  const programs = createLocalPrograms({ sandboxes: plain, serve: () => undefined, log: createLog('silent') })
  const setup = () => ({ command: ['no-such-program'], env: {} })
  await assert.rejects(programs.start({ sessionId: 'ses_none', isolation: 'none', setup }), {
    name: 'RuntimeFailure',
    message: /no-such-program/,
  })
})

test('without bubblewrap, starting a program that must be isolated fails with the reason', async () => {
  const programs = createLocalPrograms({ sandboxes: plain, serve: () => undefined, log: createLog('silent') })
  const setup = () => ({ command: ['node'], env: {} })
  await assert.rejects(programs.start({ sessionId: 'ses_virtual', isolation: 'sandbox', setup }), {
    name: 'RuntimeFailure',
    message: /bubblewrap/,
  })
})
