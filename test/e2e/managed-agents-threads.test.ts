import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const { url: baseURL, key: apiKey } = service

type Client = InstanceType<typeof AnthropicV1>
type StreamEvent =
  Awaited<ReturnType<Client['beta']['sessions']['events']['stream']>> extends AsyncIterable<infer E> ? E : never

const toolset = { type: 'agent_toolset_20260401' as const }
const asking = { ...toolset, default_config: { permission_policy: { type: 'always_ask' as const } } }
const lookUp = {
  type: 'custom' as const,
  name: 'look_up',
  description: 'Looks up an invoice',
  input_schema: { type: 'object' as const, properties: { number: { type: 'integer' } }, required: ['number'] },
}
const message = (said: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: said }] })
/** A prompt that gives tasks to agents in one turn, and then sums up. */
const delegating = (...tasks: readonly (readonly [tool: string, prompt: string])[]) =>
  message(
    saying(
      { text: 'I delegate.', tool_calls: tasks.map(([name, prompt]) => ({ name, input: { prompt } })) },
      { text: 'All done.' },
    ),
  )
const ofWorker = (prompt: string) => ['agent__worker', prompt] as const

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 })
  const { agents, environments, sessions } = client.beta
  const named = (guarantee: string) => `@anthropic-ai/sdk ${version}: ${guarantee}`
  const environment = await environments.create({ name: 'Here' })

  /** Starts a session of an agent that may call one with these tools. */
  async function startWith(tools: object[], task: ReturnType<typeof message>) {
    const worker = await agents.create({ name: 'Worker', model: 'scripted', system: 'Work.', tools: tools as never })
    const coordinator = await agents.create({
      name: 'Coordinator',
      model: 'scripted',
      tools: [],
      multiagent: { type: 'coordinator', agents: [worker.id] },
    })
    const session = await sessions.create({
      agent: coordinator.id,
      environment_id: environment.id,
      initial_events: [task],
    })
    return { worker, coordinator, session }
  }
  async function streamed(id: string, isLast: (event: StreamEvent) => boolean): Promise<StreamEvent[]> {
    const seen: StreamEvent[] = []
    for await (const event of await sessions.events.stream(id, {}, { query: { after: '0' } })) {
      seen.push(event)
      if (isLast(event)) break
    }
    return seen
  }
  const asks = (event: StreamEvent) =>
    event.type === 'session.status_idle' && event.stop_reason.type === 'requires_action'
  const ends = (event: StreamEvent) => event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn'
  const idsIn = (event: StreamEvent | undefined) =>
    event?.type === 'session.status_idle' && event.stop_reason.type === 'requires_action'
      ? event.stop_reason.event_ids
      : []
  const listed = async <T>(items: AsyncIterable<T>) => {
    const found: T[] = []
    for await (const item of items) found.push(item)
    return found
  }
  /** The thread of the called agent, once it exists. */
  const threadOf = (id: string) =>
    eventually(async () => (await listed(sessions.threads.list(id)))[1], { what: 'the thread of the called agent' })

  test(named('an agent names the agents that it calls; they are resolved, merged and cleared'), async () => {
    const worker = await agents.create({ name: 'Worker', model: 'scripted' })
    const other = await agents.create({ name: 'Other', model: 'scripted' })
    await agents.update(worker.id, { version: 1, system: 'Newer.' })
    const made = await agents.create({
      name: 'Coordinator',
      model: 'scripted',
      multiagent: { type: 'coordinator', agents: [worker.id, { type: 'agent', id: other.id, version: 1 }] },
    })
    const reference = (id: string, number: number) => ({ type: 'agent', id, version: number })
    const roster = [reference(worker.id, 2), reference(other.id, 1)]
    assert.deepEqual(made.multiagent, { type: 'coordinator', agents: roster })
    assert.deepEqual(await agents.retrieve(made.id), made)
    assert.deepEqual((await listed(agents.versions.list(made.id)))[0]?.multiagent, made.multiagent)

    const own = await send(service, `GET /api/agents/${made.id}`)
    assert.deepEqual(own.json<{ config: object }>().config, {
      runtime: 'builtin',
      agents: [{ agent_id: worker.id }, { agent_id: other.id, version: 1 }],
    })
    const kept = await agents.update(made.id, { version: 1, name: 'Renamed' })
    assert.deepEqual(kept.multiagent, made.multiagent)
    const predefined = { type: 'enabled' as const, predefined_agents: [other.id] }
    const three = await agents.update(made.id, {
      version: 2,
      multiagent: { type: 'multiagent_20261001', subagents: predefined },
    })
    const disabled = { type: 'disabled' }
    const enabled = { type: 'enabled', predefined_agents: [reference(other.id, 1)], inline_agents: disabled }
    const shown = { type: 'multiagent_20261001', subagents: enabled, workflows: disabled, advisor: disabled }
    assert.deepEqual(three.multiagent, shown)
    const merged = await agents.update(made.id, {
      version: 3,
      multiagent: { type: 'multiagent_20261001', workflows: { type: 'disabled' } },
    })
    assert.deepEqual(merged.multiagent, shown)
    assert.equal((await agents.update(made.id, { version: merged.version, multiagent: null })).multiagent, null)
  })

  test(named('what the service cannot call is rejected by name'), async () => {
    const worker = await agents.create({ name: 'Worker', model: 'scripted' })
    const other = await holderOf(service, { owner_id: 'other' })
    const stranger = new Anthropic({ baseURL, apiKey: other.key, maxRetries: 0 })
    const foreign = (await stranger.beta.agents.create({ name: 'Foreign', model: 'scripted' })).id
    const made = await agents.create({ name: 'Coordinator', model: 'scripted' })
    const create = (multiagent: object) =>
      agents.create({ name: 'C', model: 'scripted', multiagent: multiagent as never })
    const coordinator = (...list: unknown[]) => create({ type: 'coordinator', agents: list })
    const members = (fields: object) => create({ type: 'multiagent_20261001', ...fields })
    for (const [request, problem] of [
      [() => coordinator('agent_none'), /multiagent\.agents\[0\]\.agent_id agent_none is not an agent of owner/],
      [() => coordinator(worker.id, foreign), /multiagent\.agents\[1\]\.agent_id .* is not an agent of owner/],
      [
        () => coordinator(worker.id, { type: 'agent', id: worker.id }),
        /multiagent\.agents\[1\]\.id .* already in the list/,
      ],
      [
        () => coordinator({ type: 'agent', id: worker.id, version: 9 }),
        /multiagent\.agents\[0\]\.version 9 is not a version/,
      ],
      [() => coordinator({ type: 'self' }), /multiagent/],
      [() => coordinator(), /multiagent/],
      [() => members({ workflows: { type: 'enabled' } }), /multiagent/],
      [() => members({ advisor: { type: 'enabled', model: 'scripted' } }), /multiagent/],
      [() => members({ subagents: { type: 'enabled', inline_agents: { type: 'enabled' } } }), /multiagent/],
      [
        () => agents.update(made.id, { version: 1, multiagent: { type: 'coordinator', agents: [made.id] } }),
        /multiagent\.agents\[0\]\.agent_id is the agent itself/,
      ],
    ] as const) {
      await assert.rejects(request, (error: unknown) => {
        assert.ok(error instanceof Anthropic.BadRequestError)
        assert.match(error.message, problem)
        return true
      })
    }
  })

  test(named('a called agent works in a thread, with its events, its usage and an end'), async () => {
    const { worker, session } = await startWith(
      [toolset],
      delegating(ofWorker(saying(bash('echo in-thread'), { text: 'found-it' }))),
    )
    const events = await streamed(session.id, ends)
    const created = events.find(event => event.type === 'session.thread_created')
    // The ledger is written a moment after a call: two calls of ten tokens each.
    const thread = await eventually(async () => {
      const found = await threadOf(session.id)
      return Number(found.usage?.output_tokens) >= 20 ? found : undefined
    })
    assert.deepEqual([created?.session_thread_id, created?.agent_name], [thread.id, 'Worker'])
    const ofThreads = events.filter(
      ({ type }) => type.startsWith('agent.thread_') || type.startsWith('session.thread_'),
    )
    assert.deepEqual(
      ofThreads.map(({ type }) => type),
      [
        'session.thread_created',
        'agent.thread_message_sent',
        'session.thread_status_running',
        'agent.thread_message_received',
        'session.thread_status_idle',
      ],
    )
    const sent = ofThreads.find(event => event.type === 'agent.thread_message_sent')
    const received = ofThreads.find(event => event.type === 'agent.thread_message_received')
    assert.deepEqual([sent?.to_session_thread_id, sent?.to_agent_name], [thread.id, 'Worker'])
    assert.deepEqual([received?.from_session_thread_id, received?.from_agent_name], [thread.id, 'Worker'])
    assert.deepEqual(received?.content, [{ type: 'text', text: 'found-it' }])

    const [primary, ...others] = await listed(sessions.threads.list(session.id, { limit: 1 }))
    assert.equal(others.length, 1)
    assert.deepEqual([primary?.id, primary?.parent_thread_id], [session.id, null])
    assert.deepEqual(
      [thread.type, thread.session_id, thread.parent_thread_id, thread.status, thread.archived_at],
      ['session_thread', session.id, session.id, 'idle', null],
    )
    assert.deepEqual([thread.agent.type, 'id' in thread.agent && thread.agent.id], ['agent', worker.id])
    assert.ok(!('multiagent' in thread.agent))
    assert.deepEqual(
      { ...(await sessions.threads.retrieve(thread.id, { session_id: session.id })), stats: thread.stats },
      thread,
    )
    assert.deepEqual(await listed(sessions.threads.list(session.id, { statuses: ['running'] })), [])

    const log = await listed(sessions.threads.events.list(thread.id, { session_id: session.id, limit: 2 }))
    const types = log.map(({ type }) => type)
    for (const type of ['user.message', 'agent.tool_use', 'agent.tool_result', 'agent.message'])
      assert.ok(types.includes(type as never), type)
    const query = { query: { after: '0' } }
    const stream = await sessions.threads.events.stream(thread.id, { session_id: session.id }, query)
    const followed: string[] = []
    for await (const event of stream) {
      followed.push(event.type)
      if (event.type === 'session.status_idle') break
    }
    assert.deepEqual(followed, types.slice(0, followed.length))
    const shown = await sessions.retrieve(session.id)
    assert.deepEqual(shown.agent.multiagent?.type, 'coordinator')
    assert.match(JSON.stringify(shown.agent.multiagent), /"system":"Work\."/)

    const archived = await sessions.threads.archive(thread.id, { session_id: session.id })
    assert.equal(archived.status, 'terminated')
    assert.ok(archived.archived_at)
    const again = await sessions.threads.archive(thread.id, { session_id: session.id })
    assert.equal(again.archived_at, archived.archived_at)
    const end = (await listed(sessions.events.list(session.id))).at(-1)
    assert.deepEqual(
      [end?.type, end?.type === 'session.thread_status_terminated' && end.session_thread_id],
      ['session.thread_status_terminated', thread.id],
    )
    await assert.rejects(sessions.threads.archive(session.id, { session_id: session.id }), Anthropic.BadRequestError)
  })

  test(named('an approval of a thread is asked and answered in the session, and runs once'), async () => {
    const { session } = await startWith(
      [asking],
      delegating(ofWorker(saying(bash('echo allowed-$((40 + 2))'), { text: 'ok' }))),
    )
    const waiting = await streamed(session.id, asks)
    const thread = await threadOf(session.id)
    const asked = waiting.find(event => event.type === 'agent.tool_use' && event.name === 'bash')
    assert.ok(asked?.type === 'agent.tool_use')
    assert.deepEqual([asked.session_thread_id, asked.evaluated_permission], [thread.id, 'ask'])
    assert.deepEqual(idsIn(waiting.at(-1)), [asked.id])
    const idle = waiting.find(event => event.type === 'session.thread_status_idle')
    assert.deepEqual(idle?.stop_reason, { type: 'requires_action', event_ids: [asked.id] })
    assert.equal((await sessions.retrieve(session.id)).status, 'idle')

    const { data } = await sessions.events.send(session.id, {
      events: [{ type: 'user.tool_confirmation', tool_use_id: asked.id, result: 'allow' }],
    })
    const [confirmation] = data ?? []
    assert.ok(confirmation?.type === 'user.tool_confirmation')
    assert.equal(confirmation.session_thread_id, thread.id)
    const all = await streamed(session.id, ends)
    const echo = all.find(event => event.type === 'user.tool_confirmation')
    assert.deepEqual([echo?.session_thread_id, echo?.tool_use_id, echo?.result], [thread.id, asked.id, 'allow'])
    assert.ok(all.some(({ type }) => type === 'session.status_running'))
    const log = await listed(sessions.threads.events.list(thread.id, { session_id: session.id }))
    const results = log.filter(({ type }) => type === 'agent.tool_result')
    assert.equal(results.length, 1)
    assert.match(JSON.stringify(results), /allowed-42/)
    // The conversation of the coordinator has only the call of the agent.
    const body = JSON.stringify(upstream.requests.at(-1)?.body)
    assert.equal(body.split('"type":"tool_use"').length, 2)
    await assert.rejects(
      sessions.events.send(session.id, {
        events: [{ type: 'user.tool_confirmation', tool_use_id: asked.id, result: 'deny' }],
      }),
      Anthropic.ConflictError,
    )
  })

  test(named('the tool runner of the SDK runs the custom tools of two threads'), async () => {
    const task = (number: number) =>
      ofWorker(saying({ tool_calls: [{ name: 'look_up', input: { number } }] }, { text: `worker-${number}-ends` }))
    const { session } = await startWith([lookUp], delegating(task(1), task(2)))
    const asked: unknown[] = []
    const tool = {
      ...lookUp,
      parse: (input: unknown) => input as { number: number },
      run: ({ number }: { number: number }) => {
        asked.push(number)
        return `invoice-${number}-is-paid`
      },
    }
    const runner = sessions.events.toolRunner(session.id, { tools: [tool as never], maxIdleMs: 500 })
    const threads = new Set<unknown>()
    for await (const call of runner) {
      // The runner also reports calls of tools that it does not have.
      if (call.name === 'look_up') threads.add(call.event.session_thread_id)
      assert.equal(call.posted, call.name === 'look_up')
    }
    assert.deepEqual(asked.toSorted(), [1, 2])
    assert.equal(threads.size, 2)
    const log = JSON.stringify(await listed(sessions.events.list(session.id)))
    assert.match(log, /worker-1-ends/)
    assert.match(log, /worker-2-ends/)
    assert.match(log, /All done\./)
  })

  test(named('an interrupt of a thread stops it alone; an answer elsewhere shows in the session'), async () => {
    const { session } = await startWith(
      [asking, lookUp],
      delegating(ofWorker(saying(bash('echo never'), { text: 'ok' }))),
    )
    await streamed(session.id, asks)
    const thread = await threadOf(session.id)
    const none = { type: 'user.interrupt' as const, session_thread_id: 'ses_none' }
    await assert.rejects(sessions.events.send(session.id, { events: [none] }), Anthropic.NotFoundError)
    await sessions.events.send(session.id, { events: [{ type: 'user.interrupt', session_thread_id: thread.id }] })
    const all = await streamed(session.id, ends)
    const received = all.find(event => event.type === 'agent.thread_message_received')
    assert.match(JSON.stringify(received), /interrupted before it answered/)
    assert.ok(all.some(event => event.type === 'agent.message' && JSON.stringify(event).includes('All done.')))

    const next = await startWith([asking], delegating(ofWorker(saying(bash('echo elsewhere'), { text: 'ok' }))))
    const [id = ''] = idsIn((await streamed(next.session.id, asks)).at(-1))
    assert.equal((await send(service, `POST /api/approvals/${id}`, { body: { result: 'allow' } })).status, 200)
    const events = await streamed(next.session.id, ends)
    assert.ok(events.some(event => event.type === 'user.tool_confirmation' && event.tool_use_id === id))
  })

  test(named('threads of other sessions and other owners are not found'), async () => {
    const { session } = await startWith([toolset], delegating(ofWorker(saying({ text: 'ok' }))))
    await streamed(session.id, ends)
    const thread = await threadOf(session.id)
    const lone = await sessions.create({
      agent: (await agents.create({ name: 'A', model: 'scripted' })).id,
      environment_id: environment.id,
    })
    const path = { session_id: lone.id }
    for (const request of [
      () => sessions.threads.retrieve(thread.id, path),
      () => sessions.threads.archive(thread.id, path),
      () => sessions.threads.events.list(thread.id, path),
      () => sessions.threads.events.stream(thread.id, path),
      () => sessions.threads.retrieve('ses_none', { session_id: session.id }),
    ])
      await assert.rejects(request, Anthropic.NotFoundError)
    assert.deepEqual(
      (await listed(sessions.threads.list(lone.id))).map(({ id }) => id),
      [lone.id],
    )
    const other = await holderOf(service, { owner_id: `stranger-${version}` })
    const stranger = new Anthropic({ baseURL, apiKey: other.key, maxRetries: 0 })
    await assert.rejects(
      stranger.beta.sessions.threads.retrieve(thread.id, { session_id: session.id }),
      Anthropic.NotFoundError,
    )
  })
}
