import { eventually } from '../service/eventually.ts'
import { sendOk, type Target } from '../service/send.ts'
import { saying } from '../upstream/scripted-service.ts'
import type { FullService } from './full-service.ts'

/** Objects with further controls than those of a full service, by their ids. */
export interface ChangeableObjects {
  readonly agent: string
  /** Waits for the result of a custom tool. */
  readonly customToolSession: string
  readonly skill: string
  readonly memory: string
  readonly schedule: string
  readonly delivery: string
  readonly endpoint: string
  readonly mcpServer: string
  /** Each person logs in there. */
  readonly loginServer: string
  /** An experiment that has ended, with a case. */
  readonly experiment: string
  readonly case: string
  /** Request id of a model call. */
  readonly call: string
}

/**
 * Adds what has controls of its own, with the key of `member`, whose owner is that of the agents: copies of skills that
 * differ, prompts that wait, tools of every kind, an experiment.
 */
export async function addChangeable(
  { service, agent: scribe }: FullService,
  member: Target,
): Promise<ChangeableObjects> {
  const call = <T>(line: string, body?: unknown): Promise<T> => sendOk<T>(member, line, { body })
  const created = async (line: string, body: unknown): Promise<string> => (await call<{ id: string }>(line, body)).id
  const agent = await created('POST /api/agents', {
    name: 'Dispatcher',
    owner_id: 'ada',
    model: 'claude-sonnet-5',
    tools: [
      { type: 'agent_toolset_20260401' },
      { type: 'mcp_toolset', mcp_server_name: 'tickets' },
      { type: 'custom', name: 'page_person', description: 'Pages a person', input_schema: { type: 'object' } },
    ],
    config: {
      mcp_servers: ['tickets'],
      agents: [scribe],
      network: { type: 'limited', allowed_hosts: ['api.example.com'] },
    },
  })
  const customToolSession = await created('POST /session', {
    agent_id: agent,
    title: 'Page the person on call',
    prompt: saying({ tool_calls: [{ name: 'page_person', input: { name: 'Ada' } }] }, { text: 'Ada knows.' }),
  })
  await call(`POST /session/${customToolSession}/prompt_async`, {
    model: { modelID: 'claude-sonnet-5' },
    parts: [{ type: 'text', text: 'Then announce it' }],
  })
  const skill = await created('POST /api/v1/skills', { name: 'Polite', content: '# Polite\n\nGreet people.' })
  await call(`POST /api/v1/managed_agents/agents/${agent}/skill`, { skill_id: skill })
  await call(`PATCH /api/v1/skills/${skill}`, { content: '# Polite\n\nGreet people by name.' })
  await call('POST /api/vault', { key: 'CALENDAR_TOKEN', value: 'sample-0123456789', scope: 'owner' })
  const [memory] = await call<readonly { id: string }[]>(`GET /api/v1/managed_agents/agents/${scribe}/memory`)
  const { server_id: loginServer } = await sendOk<{ server_id: string }>(service, 'POST /v1/mcp/server', {
    body: {
      server_name: 'calendar',
      url: 'https://calendar.example.com/mcp',
      auth_type: 'oauth2',
      oauth2_flow: 'authorization_code',
    },
  })
  const servers = await call<readonly { server_id: string; server_name: string }[]>('GET /v1/mcp/server')
  const dataset_id = await created('POST /api/datasets', { name: 'Words' })
  await call(`POST /api/datasets/${dataset_id}/cases`, {
    cases: [{ name: 'alpha', prompts: ['alpha'], graders: [{ type: 'contains', name: 'agrees', value: 'ok' }] }],
  })
  const experiment = await created('POST /api/experiments', { dataset_id, agent_id: scribe })
  await eventually(
    async () => (await call<{ ended_at: string | null }>(`GET /api/experiments/${experiment}`)).ended_at !== null,
    { what: 'the end of the experiment' },
  )
  await eventually(
    async () =>
      (await call<{ activity: { kind: string } }>(`GET /api/sessions/${customToolSession}`)).activity.kind ===
      'custom_tool',
    { what: 'the call of the custom tool' },
  )
  const first = async (line: string, field: string): Promise<string> =>
    (await call<Record<string, readonly { id: string }[]>>(line))[field]?.[0]?.id ?? ''
  return {
    agent,
    customToolSession,
    skill,
    memory: memory?.id ?? '',
    schedule: await first('GET /api/schedules', 'schedules'),
    delivery: await first('GET /api/deliveries', 'deliveries'),
    endpoint: await first('GET /api/webhook-endpoints', 'endpoints'),
    mcpServer: servers.find(({ server_name }) => server_name === 'tickets')?.server_id ?? '',
    loginServer,
    experiment,
    case:
      (await call<{ cases: readonly { case_id: string }[] }>(`GET /api/experiments/${experiment}/cases`)).cases[0]
        ?.case_id ?? '',
    call:
      (await call<{ calls: readonly { request_id: string | null }[] }>('GET /api/usage/calls')).calls[0]?.request_id ??
      '',
  }
}

/** Returns the address of every page, panel and tab that shows objects, by name. A list is visible beside its open object. */
export function addressesOf(full: FullService, more: ChangeableObjects): Readonly<Record<string, string>> {
  const session = `/console/sessions/${full.session}`
  const agent = `/console/agents/${more.agent}`
  const tabs = (path: string, names: readonly string[]) =>
    Object.fromEntries(names.map(tab => [`${path.split('/')[2]?.slice(0, -1)}, ${tab}`, `${path}?tab=${tab}`]))
  return {
    overview: '/',
    'sessions, open': `/console/sessions?open=${full.waitingSession}`,
    session,
    ...tabs(session, ['events', 'tools', 'files', 'context', 'threads']),
    'session, waiting': `/console/sessions/${full.waitingSession}`,
    'session, failed': `/console/sessions/${full.failedSession}`,
    'session, custom tool': `/console/sessions/${more.customToolSession}`,
    compare: `/console/compare?a=${full.session}&b=${full.failedSession}`,
    'compare, versions': `/console/compare?of=versions&agent=${full.agent}&a=1&b=2`,
    inbox: '/console/inbox',
    'inbox, history': '/console/inbox?tab=history',
    'agents, open': `/console/agents?open=${full.agent}`,
    ...tabs(agent, ['prompt', 'model', 'runtime', 'tools', 'skills', 'memories', 'triggers']),
    'agent, tools as JSON': `${agent}?tab=tools&as=json`,
    'agent, versions': `/console/agents/${full.agent}?tab=versions`,
    'skills, open': `/console/skills?open=${more.skill}`,
    memories: '/console/memories',
    'memories, open': `/console/memories?agent=${full.agent}&open=${more.memory}`,
    'memories, preview': `/console/memories?agent=${full.agent}&preview=1`,
    evaluations: '/console/evaluations',
    experiment: `/console/evaluations/${more.experiment}`,
    'experiment, case': `/console/evaluations/${more.experiment}?case=${more.case}`,
    'webhooks, agent': `/console/webhooks?agent=${full.agent}`,
    'webhooks, delivery': `/console/webhooks?tab=deliveries&open=${more.delivery}`,
    'webhooks, endpoint': `/console/webhooks?tab=outgoing&open=${more.endpoint}`,
    'webhooks, replies': '/console/webhooks?tab=outgoing&view=replies',
    'schedules, open': `/console/schedules?open=${more.schedule}`,
    'mcp, open': `/console/mcp?open=${more.mcpServer}`,
    'mcp, login': `/console/mcp?open=${more.loginServer}`,
    'mcp, calls': '/console/mcp?tab=calls',
    'mcp, connect': '/console/mcp?tab=connect',
    usage: '/console/usage',
    'logs, open': `/console/logs?open=${more.call}`,
    'vault, open': '/console/vault?open=owner/CALENDAR_TOKEN',
  }
}
