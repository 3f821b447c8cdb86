import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import OpenAI from 'openai'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const { url: baseURL, key: apiKey } = service
const other = await holderOf(service, { owner_id: 'other' })

type Client = InstanceType<typeof AnthropicV1>
type StreamEvent =
  Awaited<ReturnType<Client['beta']['sessions']['events']['stream']>> extends AsyncIterable<infer E> ? E : never

const toolset = { type: 'agent_toolset_20260401' as const }
const text = (said: string) => [{ type: 'text' as const, text: said }]
const message = (said: string) => ({ type: 'user.message' as const, content: text(said) })

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 })
  const { agents, environments, sessions } = client.beta
  const named = (guarantee: string) => `@anthropic-ai/sdk ${version}: ${guarantee}`

  const newAgent = (fields: object = {}) =>
    agents.create({ name: 'Ada', model: 'scripted', system: 'Be brief.', tools: [toolset], ...fields })
  const newEnvironment = () => environments.create({ name: 'Here', config: { type: 'cloud' } })
  async function newSession(fields: object = {}) {
    const [agent, environment] = await Promise.all([newAgent(), newEnvironment()])
    return sessions.create({ agent: agent.id, environment_id: environment.id, ...fields })
  }
  /** The events of the session's stream, to the first that `isLast` accepts. */
  async function streamed(
    id: string,
    isLast: (event: StreamEvent) => boolean,
    query: object = {},
  ): Promise<StreamEvent[]> {
    const seen: StreamEvent[] = []
    // From the first event; without a position a stream begins with what happens next.
    for await (const event of await sessions.events.stream(id, {}, { query: { after: '0', ...query } })) {
      seen.push(event)
      if (isLast(event)) break
    }
    return seen
  }
  const isIdle = ({ type }: StreamEvent) => type === 'session.status_idle'
  const types = (events: readonly { type: string }[]) => events.map(({ type }) => type)

  test(named('an agent is made, read, changed as a new version, listed by versions and archived'), async () => {
    const made = await newAgent({ metadata: { team: 'red' }, description: 'Helps' })
    assert.deepEqual(
      [made.type, made.version, made.model, made.system, made.metadata, made.archived_at],
      ['agent', 1, { id: 'scripted' }, 'Be brief.', { team: 'red' }, null],
    )
    assert.deepEqual(made.tools, [
      { ...toolset, default_config: { enabled: true, permission_policy: { type: 'always_allow' } }, configs: [] },
    ])
    assert.deepEqual(await agents.retrieve(made.id), made)

    const changed = await agents.update(made.id, {
      version: 1,
      model: { id: 'scripted', effort: 'high' },
      metadata: { team: null, room: '4' },
      description: null,
    })
    assert.deepEqual(
      [changed.version, changed.model, changed.metadata, changed.description, changed.system],
      [2, { id: 'scripted', effort: { type: 'high' } }, { room: '4' }, null, 'Be brief.'],
    )
    assert.equal((await agents.update(made.id, { name: 'Ada' })).version, 2, 'what changes nothing makes no version')
    await assert.rejects(agents.update(made.id, { version: 1, name: 'Late' }), Anthropic.ConflictError)
    assert.equal((await agents.retrieve(made.id, { version: 1 })).description, 'Helps')

    const archived = await agents.archive(made.id)
    assert.ok(Date.parse(archived.archived_at ?? '') >= Date.parse(archived.created_at))
    await assert.rejects(agents.update(made.id, { name: 'Late' }), Anthropic.BadRequestError)
    const seen: number[] = []
    for await (const each of agents.versions.list(made.id, { limit: 2 })) seen.push(each.version)
    assert.deepEqual(seen, [3, 2, 1])
  })

  test(named('agents.list pages by itself, newest first, without archived ones unless asked'), async () => {
    const made = [await newAgent(), await newAgent(), await newAgent()].map(({ id }) => id)
    await agents.archive(made[1] ?? '')
    const first = await agents.retrieve(made[0] ?? '')
    const collect = async (query: object) => {
      const seen: string[] = []
      for await (const { id } of agents.list({ limit: 1, 'created_at[gte]': first.created_at, ...query })) seen.push(id)
      return seen
    }
    assert.deepEqual(await collect({}), [made[2], made[0]])
    assert.deepEqual(await collect({ include_archived: true }), made.toReversed())
    assert.deepEqual(await collect({ 'created_at[lte]': first.created_at }), [made[0]])
  })

  test(named('a skill of the library is carried by the agent, apart from its system prompt'), async () => {
    const body = { name: 'Terse', content: 'Use few words.' }
    const { id } = (await send(service, 'POST /api/v1/skills', { body })).json<{ id: string }>()
    const skills = [
      { type: 'custom' as const, skill_id: id },
      { type: 'anthropic' as const, skill_id: 'xlsx' },
    ]
    const made = await newAgent({ skills })
    assert.equal(made.system, 'Be brief.')
    assert.deepEqual(
      made.skills.map(({ type, skill_id }) => [type, skill_id]),
      [
        ['custom', id],
        ['anthropic', 'xlsx'],
      ],
    )
    const changed = await agents.update(made.id, { system: 'Be kind.' })
    assert.deepEqual([changed.system, changed.skills], ['Be kind.', made.skills])
    const ours = (await send(service, `GET /api/agents/${made.id}`)).json<{ system: string }>()
    assert.match(ours.system, /^Be kind\.\n\n<!-- skill:.*\nUse few words\.$/)
    assert.deepEqual((await agents.update(made.id, { skills: [] })).skills, [])
  })

  test(named('a skill is uploaded, versioned, pinned by an agent and a session, downloaded and deleted'), async () => {
    const { skills } = client.beta
    const folder = (content: string) => [
      new File([`---\nname: terse\ndescription: Short\n---\n${content}`], 'terse/SKILL.md'),
      new File(['print(1)'], 'terse/scripts/a.py'),
    ]
    const made = await skills.create({ display_name: 'Terse answers', files: folder('One.') })
    assert.deepEqual([made.type, made.display_name, made.source], ['skill', 'Terse answers', { type: 'custom' }])
    assert.deepEqual(await skills.retrieve(made.id), made)
    const second = await skills.versions.create(made.id, { files: folder('Two.') })
    assert.deepEqual([second.type, second.name, second.description], ['skill_version', 'terse', 'Short'])
    assert.equal((await skills.retrieve(made.id)).latest_version_id, second.id)
    const at = { skill_id: made.id }
    assert.deepEqual(await skills.versions.retrieve(second.id, at), second)
    const listed = []
    for await (const version of skills.versions.list(made.id, { limit: 1 })) listed.push(version.id)
    assert.deepEqual(listed, [second.id, made.latest_version_id])
    const ids = []
    for await (const skill of skills.list({ source: 'custom', limit: 1 })) ids.push(skill.id)
    assert.ok(ids.includes(made.id))
    const archive = Buffer.from(await (await skills.versions.download(second.id, at)).arrayBuffer())
    assert.deepEqual([archive.toString('latin1', 0, 2), archive.includes('terse/scripts/a.py')], ['PK', true])

    const pinned = { type: 'custom' as const, skill_id: made.id, version: made.latest_version_id }
    const fields = { name: 'Ada', model: 'scripted', system: 'Be brief.', skills: [pinned], tools: [toolset] }
    const { data: agent, response } = await agents.create(fields).withResponse()
    assert.deepEqual([agent.skills, response.headers.get('x-switchyard-ignored')], [[pinned], null])
    const systemOf = async (id: string) =>
      (await send(service, `GET /api/agents/${id}`)).json<{ system: string }>().system
    assert.match(await systemOf(agent.id), /\nOne\.$/)
    const environment_id = (await newEnvironment()).id
    const other = { ...pinned, version: second.id }
    const overrides = { type: 'agent_with_overrides' as const, id: agent.id, skills: [other] }
    const started = await sessions.create({ agent: overrides, environment_id }).withResponse()
    assert.deepEqual(started.data.agent.skills, [other])
    assert.equal(started.response.headers.get('x-switchyard-ignored'), null)
    const run = saying(bash('cat .switchyard/skills/terse/scripts/a.py'), { text: 'Done.' })
    await sessions.events.send(started.data.id, { events: [message(run)] })
    const [result] = (await streamed(started.data.id, isIdle)).filter(({ type }) => type === 'agent.tool_result')
    assert.match(JSON.stringify(result), /print\(1\)/)
    const asked = JSON.stringify(upstream.requests.at(-1)?.body)
    assert.match(asked, /- \.switchyard\/skills\/terse: SKILL\.md, scripts\/a\.py/)
    await assert.rejects(
      newAgent({ skills: [{ ...pinned, version: '7' }] }),
      /skills\[0\]\.version: skill .* no version 7/,
    )

    assert.equal((await skills.versions.delete(second.id, at)).type, 'skill_version_deleted')
    assert.deepEqual(await skills.delete(made.id), { id: made.id, type: 'skill_deleted' })
    await assert.rejects(skills.retrieve(made.id), Anthropic.NotFoundError)
    assert.match(await systemOf(agent.id), /\nOne\.$/, 'the agent keeps its copy')
  })

  test(named('an environment is made, read, changed, listed, archived and deleted'), async () => {
    const made = await environments.create({ name: 'Lab', metadata: { a: '1' } })
    assert.deepEqual(made.config, {
      type: 'cloud',
      networking: { type: 'unrestricted' },
      packages: { type: 'packages', apt: [], cargo: [], gem: [], go: [], npm: [], pip: [] },
    })
    assert.deepEqual([made.type, made.description, made.archived_at], ['environment', null, null])
    const networking = { type: 'limited' as const, allowed_hosts: ['example.com'] }
    const changed = await environments.update(made.id, {
      config: { type: 'cloud', networking },
      metadata: { a: '', b: '2' },
    })
    assert.deepEqual(changed.metadata, { b: '2' })
    assert.deepEqual(changed.config.type === 'cloud' && changed.config.networking, {
      ...networking,
      allow_mcp_servers: false,
      allow_package_managers: false,
    })
    await assert.rejects(
      environments.update(made.id, { config: { type: 'self_hosted' } }),
      (error: InstanceType<typeof Anthropic.BadRequestError>) => /config\.type/.test(error.message),
    )
    assert.deepEqual(await environments.retrieve(made.id), changed)
    assert.ok((await environments.archive(made.id)).archived_at)
    await assert.rejects(
      newAgent().then(({ id }) => sessions.create({ agent: id, environment_id: made.id })),
      /archived/,
    )
    const listed = async (query: object) => (await environments.list({ limit: 200, ...query })).data.map(({ id }) => id)
    assert.ok(!(await listed({})).includes(made.id))
    assert.ok((await listed({ include_archived: true })).includes(made.id))
    assert.deepEqual(await environments.delete(made.id), { id: made.id, type: 'environment_deleted' })
    await assert.rejects(environments.retrieve(made.id), Anthropic.NotFoundError)
  })

  test(
    named('a session runs: a message is sent, the stream tells all up to the idle, the list says the same'),
    async () => {
      const session = await newSession({ title: 'Hello', metadata: { ticket: '7' } })
      assert.deepEqual(
        [session.type, session.status, session.title, session.metadata, session.budget, session.archived_at],
        ['session', 'idle', 'Hello', { ticket: '7' }, null, null],
      )
      assert.deepEqual([session.agent.name, session.agent.version, session.agent.system], ['Ada', 1, 'Be brief.'])
      const sent = await sessions.events.send(session.id, {
        events: [message(saying(bash('echo 4711'), { text: 'Done.' }))],
      })
      assert.deepEqual(types(sent.data ?? []), ['user.message'])

      const seen = await streamed(session.id, isIdle)
      for (const type of ['session.status_running', 'agent.tool_use', 'agent.tool_result', 'agent.message']) {
        assert.ok(types(seen).includes(type), type)
      }
      const last = seen.at(-1)
      assert.deepEqual(last?.type === 'session.status_idle' && last.stop_reason, { type: 'end_turn' })
      const listed: { id: string }[] = []
      for await (const event of sessions.events.list(session.id, { limit: 2 })) listed.push(event)
      assert.deepEqual(
        listed.map(({ id }) => id),
        seen.map(event => (event as { id: string }).id),
      )
      const messages = await sessions.events.list(session.id, {
        types: ['agent.message', 'user.message'],
        order: 'desc',
      })
      assert.deepEqual(types(messages.data), ['agent.message', 'user.message'])

      const after = await sessions.retrieve(session.id)
      assert.equal(after.status, 'idle')
      const isCounted = async () => {
        const { usage } = await sessions.retrieve(session.id)
        return usage.input_tokens === 50 && usage.output_tokens === 20
      }
      await eventually(isCounted, { what: 'the usage of both model calls' })
      assert.ok((after.stats.duration_seconds ?? 0) >= (after.stats.active_seconds ?? 0))
    },
  )

  test(named('initial_events start a session at once; event_deltas show the text while it is written'), async () => {
    const session = await newSession({
      initial_events: [message(saying({ text: 'One two three.', chunkDelayMs: 20 }))],
    })
    assert.equal(session.title, null)
    const seen = await streamed(session.id, isIdle, { event_deltas: ['agent.message'] })
    assert.equal(types(seen)[0], 'user.message')
    assert.ok(types(seen).includes('agent.message'))
  })

  test(named('an interrupt stops the run, and the session continues with the next message'), async () => {
    const session = await newSession({ initial_events: [message(saying({ text: 'never', pauseAtFrame: 2 }))] })
    await streamed(session.id, ({ type }) => type === 'session.status_running')
    assert.equal((await sessions.retrieve(session.id)).status, 'running')
    await sessions.events.send(session.id, { events: [{ type: 'user.interrupt' }] })
    const stopped = await streamed(session.id, isIdle)
    assert.ok(types(stopped).includes('user.interrupt'))
    upstream.release()

    await sessions.events.send(session.id, { events: [message(saying({ text: 'Again.' }))] })
    const all = await streamed(
      session.id,
      event => JSON.stringify(event).includes('Again.') && event.type === 'agent.message',
    )
    assert.ok(all.length > stopped.length)
  })

  test(named('a tool call that asks waits for user.tool_confirmation, and runs only when it is allowed'), async () => {
    const always_ask = { default_config: { permission_policy: { type: 'always_ask' as const } } }
    const agent = await newAgent({ tools: [{ ...toolset, ...always_ask }] })
    const { id: environment_id } = await newEnvironment()
    for (const [result, output] of [
      ['allow', /4711/],
      ['deny', /not today/],
    ] as const) {
      const asked = saying(bash('echo $((4700 + 11))'), { text: 'Done.' })
      const session = await sessions.create({ agent: agent.id, environment_id, initial_events: [message(asked)] })
      const waiting = (await streamed(session.id, isIdle)).at(-1)
      assert.ok(waiting?.type === 'session.status_idle' && waiting.stop_reason.type === 'requires_action')
      assert.equal((await sessions.retrieve(session.id)).status, 'idle')
      const [tool_use_id = ''] = waiting.stop_reason.event_ids
      const deny_message = result === 'deny' ? 'not today' : null
      await sessions.events.send(session.id, {
        events: [{ type: 'user.tool_confirmation', tool_use_id, result, deny_message }],
      })
      const all = await streamed(session.id, event => isIdle(event) && JSON.stringify(event).includes('end_turn'))
      const told = all.find(({ type }) => type === 'agent.tool_result')
      assert.match(JSON.stringify(told), output)
      assert.equal(types(all).filter(type => type === 'agent.tool_result').length, 1)
    }
  })

  const lookUp = {
    type: 'custom' as const,
    name: 'look_up',
    description: 'Looks up an invoice',
    input_schema: { type: 'object' as const, properties: { number: { type: 'integer' } }, required: ['number'] },
  }
  const lookingUp = (...numbers: readonly number[]) => {
    const tool_calls = numbers.map(number => ({ name: 'look_up', input: { number } }))
    return message(saying({ text: 'I look.', tool_calls }, { text: 'All done.' }))
  }

  test(named('a custom tool is called with an event, and user.custom_tool_result continues the session'), async () => {
    const agent = await newAgent({ tools: [toolset, lookUp] })
    assert.deepEqual(agent.tools[1], lookUp)
    const { id: environment_id } = await newEnvironment()
    const session = await sessions.create({ agent: agent.id, environment_id, initial_events: [lookingUp(1, 2)] })
    const waiting = await streamed(session.id, isIdle)
    const idle = waiting.at(-1)
    assert.ok(idle?.type === 'session.status_idle' && idle.stop_reason.type === 'requires_action')
    const calls = waiting.filter(event => event.type === 'agent.custom_tool_use')
    assert.deepEqual(
      calls.map(({ id }) => id),
      idle.stop_reason.event_ids,
    )
    assert.deepEqual(
      calls.map(({ name, input }) => [name, input]),
      [
        ['look_up', { number: 1 }],
        ['look_up', { number: 2 }],
      ],
    )
    assert.equal((await sessions.retrieve(session.id)).status, 'idle')
    const events = calls.map(({ id: custom_tool_use_id }, at) => ({
      type: 'user.custom_tool_result' as const,
      custom_tool_use_id,
      content: text(`invoice-${at}-is-paid`),
    }))
    const sent = await sessions.events.send(session.id, { events })
    assert.deepEqual(types(sent.data ?? []), ['user.custom_tool_result', 'user.custom_tool_result'])
    const again = await sessions.events.send(session.id, { events })
    assert.deepEqual(again.data, sent.data)
    await streamed(session.id, event => isIdle(event) && JSON.stringify(event).includes('end_turn'))
    assert.match(JSON.stringify(upstream.requests.at(-1)?.body), /invoice-0-is-paid.*invoice-1-is-paid/)
  })

  test(named('the tool runner of the SDK answers custom tools of a session with overrides'), async () => {
    const [agent, { id: environment_id }] = await Promise.all([newAgent(), newEnvironment()])
    const session = await sessions.create({
      agent: { type: 'agent_with_overrides', id: agent.id, tools: [lookUp] },
      environment_id,
    })
    assert.deepEqual(session.agent.tools, [lookUp])
    const ran: unknown[] = []
    const tool = {
      ...lookUp,
      run: async (input: unknown) => {
        ran.push(input)
        return 'the-runner-says-paid'
      },
      parse: (input: unknown) => input,
    }
    const runner = sessions.events.toolRunner(session.id, { tools: [tool], maxIdleMs: 100 } as never)
    await sessions.events.send(session.id, { events: [lookingUp(3)] })
    const posted: boolean[] = []
    for await (const call of runner) posted.push(call.posted)
    assert.deepEqual([ran, posted], [[{ number: 3 }], [true]])
    assert.match(JSON.stringify(upstream.requests.at(-1)?.body), /the-runner-says-paid/)
  })

  test(named('a session is changed, listed by filters, archived and deleted'), async () => {
    const session = await newSession({ budget: { type: 'limit', max_list_cost: { amount: '2550', currency: 'USD' } } })
    assert.equal(session.budget?.max_list_cost.amount, '2550')
    const lower = { type: 'limit' as const, max_list_cost: { amount: '1000', currency: 'USD' as const } }
    const changed = await sessions.update(session.id, { title: 'Named', metadata: { a: '1' }, budget: lower })
    assert.deepEqual([changed.title, changed.metadata, changed.budget], ['Named', { a: '1' }, lower])
    for (const budget of [null, session.budget]) {
      await assert.rejects(sessions.update(session.id, { budget }), Anthropic.PermissionDeniedError)
    }
    assert.deepEqual((await sessions.update(session.id, { metadata: { a: null } })).metadata, {})
    const [told] = (await sessions.events.list(session.id)).data
    assert.equal(told?.type === 'session.updated' && told.title, 'Named')

    const agent_id = session.agent.id
    const second = await sessions.create({
      agent: { type: 'agent', id: agent_id, version: 1 },
      environment_id: session.environment_id,
    })
    const collect = async (query: object) => {
      const seen: string[] = []
      for await (const { id } of sessions.list({ agent_id, limit: 1, ...query })) seen.push(id)
      return seen
    }
    assert.deepEqual(await collect({}), [second.id, session.id])
    assert.deepEqual(await collect({ order: 'asc' }), [session.id, second.id])
    assert.deepEqual(await collect({ statuses: ['running'] }), [])
    assert.deepEqual(await collect({ statuses: ['idle', 'running'] }), [second.id, session.id])
    assert.deepEqual(await collect({ 'created_at[gt]': session.created_at }), [second.id])
    assert.deepEqual(await collect({ 'created_at[lte]': session.created_at }), [session.id])

    const archived = await sessions.archive(session.id)
    assert.deepEqual([archived.status, typeof archived.archived_at], ['terminated', 'string'])
    await assert.rejects(sessions.events.send(session.id, { events: [message('hi')] }), Anthropic.ConflictError)
    assert.deepEqual(await collect({}), [second.id])
    assert.deepEqual(await collect({ include_archived: true }), [second.id, session.id])
    assert.deepEqual(await collect({ statuses: ['terminated'] }), [session.id])
    assert.deepEqual(await sessions.delete(session.id), { id: session.id, type: 'session_deleted' })
    await assert.rejects(sessions.retrieve(session.id), Anthropic.NotFoundError)
    const last = await streamed(session.id, ({ type }) => type === 'session.deleted')
    assert.equal(types(last).at(-1), 'session.deleted')
  })

  test(named('a repository is a resource of the session and the environment of ours'), async () => {
    const url = 'https://github.com/example/things.git'
    const session = await newSession({
      resources: [{ type: 'github_repository', url, checkout: { type: 'branch', name: 'next' } }],
    })
    const [resource] = (await sessions.resources.list(session.id)).data
    assert.deepEqual(resource?.type === 'github_repository' && [resource.url, resource.checkout, resource.mount_path], [
      url,
      { type: 'branch', name: 'next' },
      '/workspace/things',
    ])
    const { environment } = (await send(service, `GET /session/${session.id}`)).json<{ environment: object }>()
    assert.deepEqual(
      { ...environment, config: {} },
      {
        repository: url,
        ref: 'next',
        environment_id: session.environment_id,
        config: {},
      },
    )
  })

  test(named('a session runs its agent with overrides, and the agent stays as it is'), async () => {
    const [agent, environment] = await Promise.all([newAgent(), newEnvironment()])
    const session = await sessions.create({
      agent: { type: 'agent_with_overrides', id: agent.id, system: 'Be loud.', tools: [] },
      environment_id: environment.id,
      initial_events: [message(saying({ text: 'LOUD' }))],
    })
    assert.deepEqual([session.agent.system, session.agent.tools, session.agent.version], ['Be loud.', [], 1])
    await streamed(session.id, isIdle)
    const asked = upstream.requests.at(-1)?.body as { system?: unknown; tools?: unknown }
    assert.match(JSON.stringify(asked.system), /Be loud\./)
    assert.doesNotMatch(JSON.stringify(asked.system), /Be brief\./)
    assert.equal(asked.tools, undefined)
    assert.deepEqual((await agents.retrieve(agent.id)).system, 'Be brief.')
  })

  test(named('refusals are the errors of the SDK, with words that name the field'), async () => {
    const [agent, environment] = await Promise.all([newAgent(), newEnvironment()])
    const start = (fields: object) =>
      sessions.create({ agent: agent.id, environment_id: environment.id, ...fields } as Parameters<
        typeof sessions.create
      >[0])
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const session = await start({})
    const { BadRequestError, NotFoundError, AuthenticationError } = Anthropic
    for (const [attempt, kind, words] of [
      [() => agents.retrieve('agent_nothing'), NotFoundError, /agent agent_nothing not found/],
      [() => agents.create({ name: ' ', model: 'scripted' }), BadRequestError, /name must not be blank/],
      [
        () => newAgent({ tools: [{ type: 'nothing' }] }),
        BadRequestError,
        /tools\[0\]\.type must be one of .+agent_toolset/,
      ],
      [() => start({ agent: 'agent_nothing' }), NotFoundError, /agent agent_nothing not found/],
      [() => start({ environment_id: 'env_nothing' }), NotFoundError, /environment env_nothing not found/],
      [() => start({ resources: [{ type: 'file', file_id: 'f' }] }), BadRequestError, /resources\[0\]\.file_id/],
      [
        () => start({ initial_events: [{ type: 'user.define_outcome' }] }),
        BadRequestError,
        /initial_events\[0\]\.description/,
      ],
      [
        () => sessions.events.send(session.id, { events: [{ type: 'user.message', content: [image] }] } as never),
        BadRequestError,
        /events\[0\]\.content\[0\]\.source\.type "url" is not supported: send the content with type base64/,
      ],
      [
        () => sessions.events.send(session.id, { events: [{ type: 'user.define_outcome' }] } as never),
        BadRequestError,
        /events\[0\]\.description/,
      ],
      [
        () => new Anthropic({ baseURL, apiKey: 'sk-nobody', maxRetries: 0 }).beta.agents.list(),
        AuthenticationError,
        /unauthorized/,
      ],
    ] as const) {
      await assert.rejects(attempt, (error: unknown) => {
        assert.ok(error instanceof kind, String(error))
        // One of the two majors shows the answer as it came: JSON.
        assert.match(error.message.replaceAll('\\', ''), words)
        return true
      })
    }
  })

  test(named('another owner sees nothing of it: 404'), async () => {
    const foreign = new Anthropic({ baseURL, apiKey: other.key, maxRetries: 0 }).beta
    const session = await newSession()
    const attempts = [
      () => foreign.agents.retrieve(session.agent.id),
      () => foreign.agents.update(session.agent.id, { name: 'Taken' }),
      () => foreign.environments.retrieve(session.environment_id),
      () => foreign.environments.delete(session.environment_id),
      () => foreign.sessions.retrieve(session.id),
      () => foreign.sessions.delete(session.id),
      () => foreign.sessions.events.list(session.id),
    ]
    for (const attempt of attempts) await assert.rejects(attempt, Anthropic.NotFoundError)
    assert.deepEqual((await foreign.sessions.list()).data, [])
  })
}

test('openai 7.55.0: a skill is uploaded as files and as an archive, versioned, downloaded and deleted', async () => {
  const { skills } = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, maxRetries: 0 })
  const folder = (content: string) => [
    new File([`---\nname: brief\ndescription: Short\n---\n${content}`], 'brief/SKILL.md'),
    new File(['a'], 'brief/a.txt'),
  ]
  const made = await skills.create({ files: folder('One.') })
  assert.deepEqual(made, { ...made, object: 'skill', name: 'brief', default_version: '1', latest_version: '1' })
  const archive = Buffer.from(await (await skills.content.retrieve(made.id)).arrayBuffer())
  const second = await skills.versions.create(made.id, { files: new File([archive], 'brief.zip') })
  assert.deepEqual(second, { ...second, object: 'skill.version', skill_id: made.id, version: '2' })
  const third = await skills.versions.create(made.id, { files: folder('Three.'), default: true })
  const shown = await skills.retrieve(made.id)
  assert.deepEqual([shown.default_version, shown.latest_version], ['3', '3'])
  assert.equal((await skills.update(made.id, { default_version: '1' })).default_version, '1')
  const content = async () => (await send(service, `GET /api/v1/skills/${made.id}`)).json<{ content: string }>().content
  assert.equal(await content(), 'One.')

  const versions = await Array.fromAsync(skills.versions.list(made.id, { limit: 1, order: 'asc' }))
  assert.deepEqual(
    versions.map(({ version }) => version),
    ['1', '2', '3'],
  )
  assert.ok((await Array.fromAsync(skills.list({ limit: 1 }))).some(({ id }) => id === made.id))
  const at = { skill_id: made.id }
  assert.deepEqual(await skills.versions.retrieve('2', at), second)
  assert.ok((await (await skills.versions.content.retrieve('2', at)).arrayBuffer()).byteLength > 100)
  assert.deepEqual(await skills.versions.delete('3', at), {
    id: third.id,
    object: 'skill.version.deleted',
    deleted: true,
    version: '3',
  })
  assert.deepEqual(await skills.delete(made.id), { id: made.id, object: 'skill.deleted', deleted: true })
  await assert.rejects(skills.retrieve(made.id), OpenAI.NotFoundError)
})
