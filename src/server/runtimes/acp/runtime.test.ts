import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { acpRig, doing } from '../../../../test/support/acp/acp-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { noRefs, promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import { awaitedApprovals, type NewEvent } from '../../../contract/events.ts'
import { isRunning } from '../../sandboxes/sandboxes-for-tests.ts'

type Event = NewEvent | undefined

const textsOf = (log: readonly NewEvent[], type = 'agent.message') =>
  log
    .filter(event => event.type === type)
    .map(({ content }) => ((content ?? []) as { text?: string }[]).map(({ text }) => text).join(''))
const lastOf = (log: readonly NewEvent[]): Event => log.at(-1)
const reasonOf = (event: Event) => (event?.stop_reason as { type: string } | undefined)?.type
const errorOf = (event: Event) => (event?.error as { message: string } | undefined)?.message ?? ''
const ask = (fields: object = {}) => ({
  ask: { toolCallId: 'c1', title: 'List', kind: 'execute', rawInput: { command: 'ls' }, ...fields },
})
const asking = sessionWith({ tools: [{ type: 'bash', permission_policy: 'always_ask' }] })
/** A running tool call. */
const begun = (kind: string, rawInput: object) => ({
  sessionUpdate: 'tool_call',
  toolCallId: 'c1',
  kind,
  rawInput,
  status: 'in_progress',
})
/** A long sleep that differs from all others on this machine. */
const longSleep = () => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

test('a turn yields its text, its tool call with one result, and its end', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  const call = begun('edit', { path: 'a' })
  const end = { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', rawOutput: 'ok' }
  await rig.run(
    runtime,
    promptOf(
      doing(
        { say: 'Wri' },
        { say: 'ting.' },
        { update: call },
        { write: ['made', 'x'] },
        { update: end },
        { say: 'Done.' },
      ),
    ),
  )
  assert.deepEqual(rig.types().slice(1), [
    'agent.message',
    'agent.tool_use',
    'agent.tool_result',
    'agent.message',
    'session.status_idle',
  ])
  assert.deepEqual(textsOf(rig.log), ['Writing.', 'Done.'])
  assert.equal(reasonOf(lastOf(rig.log)), 'end_turn')
  const message = rig.log.find(({ type }) => type === 'agent.message')
  assert.deepEqual(rig.previews.slice(0, 2), [
    { eventId: message?.id, text: 'Wri' },
    { eventId: message?.id, text: 'ting.' },
  ])
})

test('the next prompt uses the same program and conversation; only the first one has system prompt and memories', async () => {
  const { runtime } = await acpRig({ memories: 'You remember: blue.' })
  const rig = runRig(sessionWith({ system: 'Be terse.', timezone: 'Asia/Tokyo' }))
  await rig.run(runtime, promptOf(doing({ tell: 'prompt' })))
  const first = rig.refs.provider_session_id
  await rig.run(runtime, promptOf(doing({ tell: 'prompt' })))
  const [one = '', two = ''] = textsOf(rig.log)
  assert.ok(one.startsWith("Be terse.\n\nThe user's time zone is Asia/Tokyo.\n\nYou remember: blue.\n\n[["), one)
  assert.ok(two.startsWith('[['), two)
  assert.ok(first)
  assert.equal(rig.refs.provider_session_id, first)
})

const stopReasons = [
  ['max_tokens', 'end_turn', 'max_tokens'],
  ['max_turn_requests', 'end_turn', 'max_turn_requests'],
  ['refusal', 'refusal', undefined],
  ['cancelled', 'end_turn', 'cancelled'],
  ['something_new', 'end_turn', undefined],
] as const

for (const [stop, reason, detail] of stopReasons) {
  test(`a turn that stops with ${stop} ends the run with ${reason}`, async () => {
    const { runtime } = await acpRig()
    const rig = runRig()
    await rig.run(runtime, promptOf(doing({ say: 'a' }, { stop })))
    assert.equal(reasonOf(lastOf(rig.log)), reason)
    assert.equal((lastOf(rig.log)?.stop_details as { type: string } | null)?.type, detail)
  })
}

test('a call that the agent’s tools allow runs without a question, and one that they do not allow is denied', async () => {
  const { runtime } = await acpRig()
  const rig = runRig(sessionWith({ tools: [{ type: 'bash' }] }))
  await rig.run(runtime, promptOf(doing(ask(), ask({ toolCallId: 'c2', kind: 'edit' }))))
  assert.deepEqual(textsOf(rig.log), ['(yes)', '(no)'])
  assert.deepEqual(
    rig.log.filter(({ type }) => type === 'agent.tool_use').map(event => event.evaluated_permission),
    ['allow', 'deny'],
  )
})

test('a question about a call without arguments shows its title', async () => {
  const { runtime } = await acpRig()
  const rig = runRig(asking)
  const decide = async () => ({ result: 'allow', message: undefined }) as const
  await rig.run(runtime, promptOf(doing(ask({ title: 'rm -r src', rawInput: undefined }))), { decide })
  assert.deepEqual(rig.log.find(({ type }) => type === 'agent.tool_use')?.['input'], { title: 'rm -r src' })
})

for (const [result, said] of [
  ['allow', '(yes)'],
  ['deny', '(no)'],
] as const) {
  test(`a call that asks waits for a person, whose decision is ${result}`, async () => {
    const { runtime } = await acpRig()
    const rig = runRig(asking)
    const seen: string[] = []
    const decide = async (eventId: string) => {
      const use = rig.log.find(({ id }) => id === eventId)
      assert.deepEqual([use?.evaluated_permission, use?.input], ['ask', { command: 'ls' }])
      const ids = awaitedApprovals(lastOf(rig.log) ?? assert.fail('no event'))
      seen.push(eventId)
      assert.deepEqual(ids, [eventId])
      return { result, message: undefined }
    }
    await rig.run(runtime, promptOf(doing(ask())), { decide })
    assert.equal(seen.length, 1)
    assert.deepEqual(textsOf(rig.log), [said])
    assert.deepEqual(rig.types().slice(1), [
      'agent.tool_use',
      'session.status_idle',
      'session.status_running',
      'agent.message',
      'agent.tool_result',
      'session.status_idle',
    ])
  })
}

test('several calls that ask at once are asked about together, and each gets its own decision', async () => {
  const { runtime } = await acpRig()
  const rig = runRig(asking)
  const open = new Map<string, (decision: { result: 'allow' | 'deny'; message: undefined }) => void>()
  const running = rig.run(
    runtime,
    promptOf(doing({ askBeside: ask().ask }, ask({ toolCallId: 'c2' }), { stop: 'end_turn' })),
    {
      decide: eventId => new Promise(resolve => open.set(eventId, resolve)),
    },
  )
  await eventually(() => open.size === 2)
  assert.equal(awaitedApprovals(lastOf(rig.log) ?? assert.fail('no event')).length, 2)
  const [first, second] = [...open.values()]
  first?.({ result: 'deny', message: undefined })
  second?.({ result: 'allow', message: undefined })
  await running
  assert.deepEqual(textsOf(rig.log), ['(no)(yes)'])
})

test('an interrupt ends the run at once and gives open calls a result, and the program runs the next prompt', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  const stop = new AbortController()
  const call = begun('execute', { command: 'x' })
  await rig.run(runtime, promptOf(doing({ update: call }, { hang: true })), {
    signal: stop.signal,
    onBatch: events => {
      if (events.some(({ type }) => type === 'agent.tool_use')) stop.abort()
      return undefined
    },
  })
  assert.deepEqual(rig.types().slice(1), ['agent.tool_use', 'agent.tool_result'])
  assert.equal(lastOf(rig.log)?.is_error, true)
  const before = rig.refs.provider_session_id
  await rig.run(runtime, promptOf(doing({ say: 'next' })))
  assert.equal(rig.refs.provider_session_id, before)
  assert.deepEqual(textsOf(rig.log), ['next'])
})

test('a program that ignores the cancellation is ended, and the next prompt starts another one', async () => {
  const { runtime } = await acpRig({ fake: { ignoresCancel: true, resume: true }, cancelMs: 200 })
  const rig = runRig()
  const stop = new AbortController()
  const marker = longSleep()
  const running = rig.run(runtime, promptOf(doing({ child: marker }, { say: 'busy' }, { hang: true })), {
    signal: stop.signal,
  })
  await eventually(() => isRunning(marker))
  stop.abort()
  await running
  await eventually(async () => !(await isRunning(marker)))
  const before = rig.refs.provider_session_id
  await rig.run(runtime, promptOf(doing({ say: 'again' })))
  assert.deepEqual(textsOf(rig.log).at(-1), 'again')
  assert.equal(rig.refs.provider_session_id, before, 'the conversation is the same')
})

test('a program that exits during a turn fails the run with its exit code and its last output', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  const call = begun('execute', { command: 'x' })
  await rig.run(runtime, promptOf(doing({ say: 'a' }, { update: call }, { complain: 'out of luck' }, { exit: 7 })))
  assert.deepEqual(rig.types().slice(1), ['agent.message', 'agent.tool_use', 'agent.tool_result', 'session.error'])
  assert.match(errorOf(lastOf(rig.log)), /exit code 7: out of luck/)
  await rig.run(runtime, promptOf(doing({ say: 'back' })))
  assert.equal(reasonOf(lastOf(rig.log)), 'end_turn')
})

test('lines that are not messages are skipped', async () => {
  const { runtime } = await acpRig({ fake: { greeting: 'Welcome!\n{"half":\n[1]\n{}' } })
  const rig = runRig()
  await rig.run(
    runtime,
    promptOf(doing({ print: 'Loading {...}' }, { print: '{"jsonrpc":"2.0","method":7}' }, { say: 'fine' })),
  )
  assert.deepEqual(textsOf(rig.log), ['fine'])
})

test('a line longer than 16 MiB fails the run instead of filling the memory', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  await rig.run(runtime, promptOf(doing({ flood: 17 * 1024 * 1024 }, { hang: true })))
  assert.match(errorOf(lastOf(rig.log)), /exited during the turn/)
})

test('a message of 10 MB is accepted and shortened to the limit of an event', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x'.repeat(10_000_000) } }
  await rig.run(runtime, promptOf(doing({ update })))
  assert.ok((textsOf(rig.log)[0]?.length ?? 0) < 250_000)
  assert.equal(reasonOf(lastOf(rig.log)), 'end_turn')
})

test('calls of unsupported methods are rejected with the error code for them', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  await rig.run(runtime, promptOf(doing({ call: 'fs/read_text_file' }, { call: 'terminal/create' })))
  assert.deepEqual(textsOf(rig.log), ['(-32601)(-32601)'])
})

test('an error of the turn fails the run with the message of the program', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  await rig.run(runtime, promptOf(doing({ fail: [-32603, 'it is <b>broken</b>'] })))
  assert.match(errorOf(lastOf(rig.log)), /^the program failed: it is broken$/)
})

const atStart: readonly [string, object, RegExp][] = [
  ['speaks another version', { version: 9 }, /version 9/],
  ['cannot open a session', { failsToOpen: [-32000, 'log in first'] }, /log in first/],
  ['ends at its start', { exitsAtStart: 3 }, /the program exited/],
]

for (const [what, fake, words] of atStart) {
  test(`a program that ${what} fails the run with that reason`, async () => {
    const { runtime, kind, endpoint } = await acpRig({ fake })
    const rig = runRig()
    await rig.run(runtime, promptOf('hi'))
    assert.match(errorOf(lastOf(rig.log)), words)
    if (!what.includes('open'))
      await assert.rejects(kind.check(endpoint, AbortSignal.timeout(20_000)), { name: 'RuntimeFailure' })
  })
}

test('a missing program fails the run with its name', async () => {
  const { runtime } = await acpRig({ command: ['/nowhere/agent'] })
  const rig = runRig()
  await rig.run(runtime, promptOf('hi'))
  assert.match(errorOf(lastOf(rig.log)), /\/nowhere\/agent/)
})

for (const [way, fake] of [
  ['resume', { resume: true }],
  ['load', { load: true }],
] as const) {
  test(`another process resumes the conversation by ${way} without repeating it`, async () => {
    const rig = runRig()
    const { runtime } = await acpRig({ fake })
    await rig.run(runtime, promptOf(doing({ say: 'one' })))
    await runtime.close()
    const before = rig.refs.provider_session_id
    await rig.run(runtime, promptOf(doing({ tell: 'prompt' })))
    assert.equal(rig.refs.provider_session_id, before)
    const [, second = ''] = textsOf(rig.log)
    assert.ok(second.startsWith('[['), second)
  })
}

test('a program that cannot resume a session gets the conversation as text', async () => {
  const rig = runRig(sessionWith({ system: 'Be terse.' }))
  const { runtime } = await acpRig()
  await rig.run(runtime, promptOf(`first ${doing({ say: 'one' })}`))
  await runtime.close()
  await rig.run(runtime, promptOf(doing({ tell: 'prompt' })))
  const [, second = ''] = textsOf(rig.log)
  assert.match(
    second,
    /^Be terse\.\n\n<conversation_so_far>\nUser:\nfirst .*\n\nAssistant:\none\n<\/conversation_so_far>\n\n\[\[/s,
  )
})

test('an interrupted run resumes: open calls get a result, and the program gets the prompt again', async () => {
  const { runtime } = await acpRig({ fake: { resume: true } })
  const rig = runRig()
  const prompt = promptOf(
    `do it ${doing({ tell: 'prompt' }, { update: { sessionUpdate: 'tool_call', toolCallId: 'c1', status: 'in_progress', title: 'T' } }, { hang: true })}`,
  )
  const next = { ...prompt, parts: [{ type: 'text' as const, text: `do it ${doing({ tell: 'prompt' })}` }] }
  await rig.run(runtime, prompt, { onBatch: events => events.some(({ type }) => type === 'agent.tool_use') })
  await runtime.close()
  await rig.run(runtime, next, { isResumed: true })
  const result = rig.log.find(({ type }) => type === 'agent.tool_result')
  assert.deepEqual([result?.tool_use_id, result?.is_error], ['c1', true])
  assert.match(textsOf(rig.log).at(-1) ?? '', /^Your last turn was interrupted\..* It was:\ndo it/s)
})

test('a draining process hands the session over between two steps, without a last event', async () => {
  const { runtime } = await acpRig()
  const rig = runRig()
  let isDraining = false
  await rig.run(runtime, promptOf(doing({ say: 'a' }, { hang: true })), {
    isDraining: () => isDraining,
    onBatch: () => undefined,
    signal: new AbortController().signal,
    onRemember: () => {
      isDraining = true
    },
  })
  assert.ok(!rig.types().includes('session.status_idle'))
  assert.ok(!rig.types().includes('session.error'))
})

test('each prompt uses its own model, set by the program’s option or by a restart', async () => {
  const { runtime } = await acpRig({ fake: { models: ['demo', 'other'], resume: true } })
  const rig = runRig()
  for (const model of ['demo', 'other', 'third'])
    await rig.run(runtime, promptOf(doing({ tell: 'ANTHROPIC_MODEL' }), { model }))
  assert.deepEqual(textsOf(rig.log), ['demo', 'demo', 'third'], 'only the third needs another process')
})

test('a program is ended with its child processes when it is idle or its session is deleted', async () => {
  for (const way of ['idle', 'dispose'] as const) {
    const { runtime } = await acpRig(way === 'idle' ? { idleMs: 50 } : {})
    const rig = runRig()
    const marker = longSleep()
    await rig.run(runtime, promptOf(doing({ child: marker }, { say: 'a' })))
    if (way === 'dispose') {
      assert.ok(await isRunning(marker))
      await runtime.dispose({ id: rig.session.id, refs: noRefs })
    }
    await eventually(async () => !(await isRunning(marker)))
  }
})

test('a check starts the program and removes everything afterwards', async () => {
  const { kind, endpoint, sandboxes } = await acpRig()
  await kind.check(endpoint, AbortSignal.timeout(20_000))
  assert.deepEqual(await readdir(sandboxes.workspacesDir), [])
  assert.deepEqual(await kind.models(endpoint, AbortSignal.timeout(1000)), [])
})
