import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { sampleId } from '../../../src/contract/examples/example.ts'
import { eventually } from '../service/eventually.ts'
import { send, sendOk } from '../service/send.ts'
import type { Service } from '../service/service.ts'
import { endlessInput } from './example-providers.ts'

/** Objects of one operation. */
export interface ExampleObjects {
  /** Returns the id of the object that a placeholder names; creates it when it is first needed. */
  idOf(placeholder: string): Promise<string>
  /** Returns the created ids by their placeholder. */
  ids(): Promise<ReadonlyMap<string, string>>
}

type Body = Readonly<Record<string, unknown>>

/** Returns objects for one operation, separate from those of all others, so that operations run in any order. */
export function exampleObjects(service: Service): ExampleObjects {
  const made = new Map<string, Promise<string>>()
  const idOf = (placeholder: string): Promise<string> => {
    const id = made.get(placeholder) ?? makers[placeholder]?.() ?? Promise.resolve(sampleId(placeholder))
    made.set(placeholder, id)
    return id
  }

  const ok = <T>(line: string, body?: unknown): Promise<T> => sendOk(service, line, { body })
  const created = async (line: string, body: Body): Promise<string> => (await ok<{ id: string }>(line, body)).id

  async function idle(session: string): Promise<string> {
    await ok(`GET /v1/sessions/${session}/events?types=session.status_idle&wait=30`)
    return session
  }

  async function agent(): Promise<string> {
    const id = await created('POST /api/agents', { name: 'Scribe', owner_id: 'me', model: 'demo' })
    await ok(`PATCH /api/agents/${id}`, { name: 'Scribe', owner_id: 'me', system: 'Write short notes.' })
    return id
  }

  async function deployment(): Promise<string> {
    return created('POST /v1/deployments', {
      name: 'Morning report',
      agent: await idOf('managed_agent_id'),
      environment_id: await idOf('environment_id'),
      initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Write the report.' }] }],
      schedule: { type: 'cron', expression: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' },
    })
  }

  async function budgetedAgent(): Promise<string> {
    const id = await agent()
    await ok(`PUT /api/budgets/agent/${id}`, { max_budget: 5, budget_duration: '30d' })
    return id
  }

  /** An agent that is served by A2A and requires approval of each tool call. */
  async function a2aAgent(): Promise<string> {
    const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
    const config = { a2a: { enabled: true } }
    return created('POST /api/agents', { name: 'Scribe', owner_id: 'me', model: 'demo', tools, config })
  }

  async function a2aTask(text: string): Promise<string> {
    const body = { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] } }
    const path = `POST /a2a/${await idOf('a2a_agent_id')}/message:send?A2A-Version=1.0`
    return (await ok<{ task: { id: string } }>(path, body)).task.id
  }

  async function a2aPushConfig(): Promise<string> {
    const [agentId, taskId] = [await idOf('a2a_agent_id'), await idOf('a2a_task_id')]
    const id = sampleId('a2a_push_config_id')
    const path = `POST /a2a/${agentId}/tasks/${taskId}/pushNotificationConfigs?A2A-Version=1.0`
    await ok(path, { id, taskId, url: 'https://agent.example.com/push' })
    return id
  }

  async function harness(): Promise<string> {
    const alias = `team-${randomUUID()}`
    await ok('POST /api/runtime-harnesses', { alias, api_spec: 'opencode', api_base: 'https://opencode.example.com' })
    return alias
  }

  async function carefulSession(): Promise<string> {
    const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
    const id = await created('POST /api/agents', { name: 'Careful', owner_id: 'me', model: 'demo', tools })
    return idle(await created('POST /session', { agent: id, prompt: 'List the files' }))
  }

  async function waitingPrompt(): Promise<string> {
    const session = await idOf('careful_session_id')
    const model = { providerID: 'switchyard', modelID: 'demo' }
    await ok(`POST /session/${session}/prompt_async`, { model, parts: [{ type: 'text', text: 'Later' }] })
    const { data } = await ok<{ data: { id: string }[] }>(`GET /session/${session}/prompts`)
    return data.at(-1)?.id ?? assert.fail('no prompt waits')
  }

  async function approval(): Promise<string> {
    const path = `GET /api/approvals?state=pending&session_id=${await idOf('careful_session_id')}`
    const { approvals } = await ok<{ approvals: { id: string }[] }>(path)
    return approvals[0]?.id ?? assert.fail('no approval is pending')
  }

  async function callingSession(): Promise<string> {
    const input_schema = { type: 'object', properties: { path: { type: 'string' } } }
    const tools = [{ type: 'custom', name: 'read_file', description: 'Reads a document of the archive', input_schema }]
    const id = await created('POST /api/agents', { name: 'Clerk', owner_id: 'me', model: 'demo', tools })
    return idle(await created('POST /session', { agent: id, prompt: 'Show invoices.txt' }))
  }

  async function customToolCall(): Promise<string> {
    const path = `GET /api/custom-tool-calls?state=pending&session_id=${await idOf('calling_session_id')}`
    const { custom_tool_calls: calls } = await ok<{ custom_tool_calls: { id: string }[] }>(path)
    return calls[0]?.id ?? assert.fail('no custom tool call is pending')
  }

  async function file(): Promise<string> {
    const path = sampleId('path')
    const session = await idOf('session_id')
    await eventually(async () => {
      const { status } = await send(service, `PUT /api/sessions/${session}/files/${path}`, {
        body: 'hello\n',
        headers: { 'content-type': 'application/octet-stream' },
      })
      return status === 200
    })
    return path
  }

  async function uploaded(purpose: string, text: string): Promise<string> {
    const form = new FormData()
    form.set('purpose', purpose)
    form.set('file', new Blob([text], { type: 'text/plain' }), 'notes.txt')
    const answer = await fetch(`${service.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body: form,
    })
    return ((await answer.json()) as { id: string }).id
  }

  const messages = [{ role: 'user', content: 'Say hello' }]

  /** A batch that has ended. */
  async function messageBatch(): Promise<string> {
    const requests = [{ custom_id: 'first', params: { model: 'demo', max_tokens: 100, messages } }]
    const id = await created('POST /v1/messages/batches', { requests })
    const isEnded = async () =>
      (await ok<{ processing_status: string }>(`GET /v1/messages/batches/${id}`)).processing_status === 'ended'
    await eventually(isEnded, { what: 'the end of the batch' })
    return id
  }

  function batchFile(): Promise<string> {
    const line = { custom_id: 'first', method: 'POST', url: '/v1/chat/completions', body: { model: 'demo', messages } }
    return uploaded('batch', JSON.stringify(line))
  }

  async function fileBatch(): Promise<string> {
    const about = { endpoint: '/v1/chat/completions', completion_window: '24h' }
    return created('POST /v1/batches', { input_file_id: await idOf('batch_file_id'), ...about })
  }

  async function experiment(): Promise<string> {
    const body = { dataset_id: await idOf('dataset_id'), agent_id: await idOf('agent_id') }
    const id = await created('POST /api/experiments', body)
    await eventually(async () => (await ok<{ state: string }>(`GET /api/experiments/${id}`)).state === 'done')
    return id
  }

  async function datasetCase(): Promise<string> {
    const { cases } = await ok<{ cases: { id: string }[] }>(`GET /api/datasets/${await idOf('dataset_id')}/cases`)
    return cases[0]?.id ?? assert.fail('the dataset has no case')
  }

  async function dataset(): Promise<string> {
    const id = await created('POST /api/datasets', { name: 'Support' })
    const graders = [{ type: 'contains', value: 'demo model' }]
    await ok(`POST /api/datasets/${id}/cases`, { cases: [{ name: 'Greeting', prompts: ['Say hello'], graders }] })
    return id
  }

  const model = { model_name: 'fast', params: { model: 'openai/gpt-5.2-mini', api_key: 'sk-sample-0123456789' } }
  const user = () => created('POST /api/users', { name: 'Nightly build', kind: 'service_account' })
  const newTeam = () => created('POST /api/teams', { name: 'Data', models: ['demo'] })
  const makers: Readonly<Record<string, () => Promise<string>>> = {
    a2a_agent_id: a2aAgent,
    a2a_asking_task_id: () => a2aTask('List the files'),
    a2a_push_config_id: a2aPushConfig,
    a2a_task_id: () => a2aTask('Say hello.'),
    agent_id: agent,
    approval_id: approval,
    alias: harness,
    background_response_id: () =>
      created('POST /v1/responses', { model: 'openai/gpt-5.2', input: endlessInput, background: true }),
    batch_file_id: batchFile,
    batch_id: fileBatch,
    base_experiment_id: experiment,
    budgeted_agent_id: budgetedAgent,
    calling_session_id: callingSession,
    careful_session_id: carefulSession,
    case_id: datasetCase,
    custom_tool_use_id: customToolCall,
    dataset_id: dataset,
    endpoint_id: () => created('POST /api/webhook-endpoints', { url: 'https://hooks.example.com/in', owner_id: 'me' }),
    environment_id: () => created('POST /v1/environments', { name: 'Node' }),
    experiment_id: async () => {
      await idOf('base_experiment_id')
      return experiment()
    },
    freeze_id: () => created('PUT /v1/freezes', { owner: 'bo' }),
    deployment_id: deployment,
    deployment_run_id: async () => created(`POST /v1/deployments/${await idOf('deployment_id')}/run`, {}),
    key_id: () => created('POST /api/keys', { label: 'Ana', owner_id: 'ana' }),
    managed_agent_id: () => created('POST /v1/agents', { name: 'Scribe', model: 'demo' }),
    member_id: user,
    member_team_id: async () => {
      const [team, member] = [await newTeam(), await idOf('member_id')]
      await ok(`PUT /api/teams/${team}/members/${member}`)
      return team
    },
    memory_id: async () =>
      created(`POST /api/v1/managed_agents/agents/${await idOf('agent_id')}/memory`, { text: 'Deploy on Tuesdays' }),
    memory_store_id: () => created('POST /v1/memory_stores', { name: 'Team style' }),
    memory_version_id: async () => {
      const path = `/v1/memory_stores/${await idOf('memory_store_id')}/memories`
      const made = await ok<{ memory_version_id: string }>(`POST ${path}`, {
        path: `/${randomUUID()}.md`,
        content: 'a',
      })
      return made.memory_version_id
    },
    message_id: async () => {
      const messages = await ok<{ info: { id: string } }[]>(`GET /session/${await idOf('session_id')}/message`)
      return messages[0]?.info.id ?? assert.fail('the session has no message')
    },
    message_batch_id: messageBatch,
    model_setting_id: () => created('POST /api/models', model),
    path: file,
    provider_id: async () => {
      await ok('PUT /api/providers/openrouter', { api_key: 'sk-sample-0123456789' })
      return 'openrouter'
    },
    resource_id: async () => {
      const session = await ok<{ resources: { id: string }[] }>(`GET /v1/sessions/${await idOf('stocked_session_id')}`)
      return session.resources[0]?.id ?? assert.fail('the session has no resource')
    },
    response_id: () => created('POST /v1/responses', { model: 'demo', input: 'Say hello' }),
    schedule_id: async () =>
      created('POST /api/schedules', {
        name: 'Morning report',
        agent_id: await idOf('agent_id'),
        cron: '30 9 * * MON-FRI',
        prompt: 'Write the report',
      }),
    secret_key: async () => (await ok<{ key: string }>('POST /api/keys', { label: 'Ana' })).key,
    server_id: async () => {
      const body = { server_name: `docs-${randomUUID().slice(0, 8)}`, url: 'https://mcp.example.com/mcp' }
      return (await ok<{ server_id: string }>('POST /v1/mcp/server', body)).server_id
    },
    session_id: async () =>
      idle(await created('POST /session', { agent: await idOf('agent_id'), prompt: 'Create hello.txt' })),
    skill_id: () => created('POST /api/v1/skills', { name: 'Terse', content: 'Answer in one sentence.' }),
    stocked_session_id: async () =>
      created('POST /v1/sessions', {
        agent: await idOf('agent_id'),
        environment_id: await idOf('environment_id'),
        resources: [{ type: 'memory_store', memory_store_id: await idOf('memory_store_id') }],
      }),
    stored_file_id: () => uploaded('user_data', 'hello\n'),
    stored_memory_id: async () =>
      created(`POST /v1/memory_stores/${await idOf('memory_store_id')}/memories`, {
        path: `/notes/${randomUUID()}.md`,
        content: 'Be kind.',
      }),
    team_id: newTeam,
    thread_id: () => idOf('session_id'),
    user_id: user,
    credential_id: async () =>
      created(`POST /v1/vaults/${await idOf('vault_id')}/credentials`, {
        auth: { type: 'static_bearer', mcp_server_url: 'https://wiki.example.com/mcp', token: 'sample-0123456789' },
      }),
    vault_id: () => created('POST /v1/vaults', { display_name: 'Ada' }),
    vault_key: async () => {
      await ok('POST /api/vault', { key: 'OLD_TOKEN', value: 'sample-0123456789', scope: 'global' })
      return 'OLD_TOKEN'
    },
    waiting_prompt_id: waitingPrompt,
    webhook_delivery_id: async () =>
      created('POST /api/deliveries', { agent_id: await idOf('agent_id'), payload: { action: 'opened' } }),
  }
  const ids = async () => {
    const entries = [...made].map(async ([name, id]) => [name, await id] as const)
    return new Map(await Promise.all(entries))
  }
  return { idOf, ids }
}
