import { after } from 'node:test'
import { startFullModernServer } from '../mcp/full-modern-server.ts'
import { eventually } from '../service/eventually.ts'
import { sendOk } from '../service/send.ts'
import type { Service } from '../service/service.ts'
import { configFor } from '../upstream/scripted-service.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { startConsole } from './browser.ts'
import { storyScript } from './stories.ts'

const models = ['claude-sonnet-5', 'claude-haiku-4-5', 'claude-opus-5-5']
const longName =
  'Reviewer of the pull requests that change the migrations of the billing database in production clusters'
const unbroken = `release-${'notes'.repeat(20)}`
const rightToLeft = 'מסכם הדוחות השבועיים של צוות התפעול'

/** Objects that pages show by their id. */
export interface FullService {
  readonly service: Service
  readonly agent: string
  /** A finished session with three model requests, an edit and three tool calls. */
  readonly session: string
  readonly waitingSession: string
  readonly failedSession: string
  readonly runningSession: string
  readonly rightToLeftSession: string
  /** A session with an unbroken title and large numbers. */
  readonly countingSession: string
  /** A person in two teams, with a key. */
  readonly user: string
  /** A team with members, models and a budget. */
  readonly team: string
}

/** A service without objects, and what it may reach. */
export interface EmptyService {
  readonly service: Service
  readonly upstream: ScriptedUpstream
  readonly mcpUrl: string
}

/** Starts a service with the console, whose models are played by a scripted upstream. */
export async function startEmptyService(): Promise<EmptyService> {
  const upstream = await startScriptedUpstream({ script: storyScript })
  after(() => upstream.stop())
  const { url: mcpUrl } = await startFullModernServer()
  const allow = [`127.0.0.1:${upstream.port}`, new URL(mcpUrl).host]
  const config = { ...(JSON.parse(configFor(upstream, models)) as object), outbound: { allow } }
  return { service: await startConsole({ config: JSON.stringify(config) }), upstream, mcpUrl }
}

/** Fills an empty service with objects of each kind: states, long names, right-to-left text, large numbers. */
export async function fill({ service, mcpUrl }: EmptyService): Promise<FullService> {
  const api = apiOf(service)
  const agents = await createAgents(api)
  await addSkillsAndMemories(api, agents.scribe)
  await addAccess(api, agents.scribe)
  const people = await addPeople(api)
  await addMcpServers(api, mcpUrl)
  const started = await startSessions(api, agents)
  await addTriggers(api, agents)
  return { service, agent: agents.scribe, ...people, ...started }
}

type Api = ReturnType<typeof apiOf>

function apiOf(service: Service) {
  const call = <T>(line: string, body?: unknown): Promise<T> => sendOk(service, line, { body })
  return {
    call,
    created: async (line: string, body: unknown): Promise<string> => (await call<{ id: string }>(line, body)).id,
  }
}

interface Agents {
  readonly scribe: string
  readonly careful: string
  readonly rightToLeft: string
  /** Has a long name and no small budget. */
  readonly counter: string
}

async function createAgents({ call, created }: Api): Promise<Agents> {
  const toolset = [{ type: 'agent_toolset_20260401' }]
  const askFirst = [
    { type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] },
  ]
  const agent = (name: string, more: object = {}) =>
    created('POST /api/agents', { name, owner_id: 'ada', model: models[0], tools: toolset, ...more })
  const scribe = await agent('Scribe', {
    description: 'Fixes tests and writes release notes',
    system: 'You fix failing tests. Change as little as possible, and say what you changed.',
    config: { webhook: { secret_key: 'GITHUB_WEBHOOK_SECRET', template: '#{{issue.number}} {{issue.title}}' } },
  })
  await call(`PATCH /api/agents/${scribe}`, {
    name: 'Scribe',
    owner_id: 'ada',
    system: 'You fix failing tests. Change as little as possible, run the test three times, and say what you changed.',
    note: 'Runs the test three times',
  })
  const careful = await agent('Janitor', { tools: askFirst, model: models[1], description: 'Asks before each command' })
  const hebrew = await agent(rightToLeft, { description: 'מסכם דוחות', owner_id: 'עדה' })
  const counter = await agent(longName, {
    description: `${longName}. ${longName}.`,
    owner_id: 'platform-and-developer-experience-team',
  })
  await agent(unbroken, { description: unbroken, model: models[2] })
  return { scribe, careful, rightToLeft: hebrew, counter }
}

async function addSkillsAndMemories({ call, created }: Api, agent: string): Promise<void> {
  const skill = await created('POST /api/v1/skills', {
    name: 'Terse',
    description: 'Short answers',
    content: '# Terse\n\nAnswer in one sentence. Name files with their path.',
  })
  await call(`POST /api/v1/managed_agents/agents/${agent}/skill`, { skill_id: skill })
  await created('POST /api/v1/skills', {
    name: longName,
    description: longName,
    content: `# ${longName}\n\n${unbroken}`,
  })
  await created('POST /api/v1/skills', { name: 'סיכום', description: rightToLeft, content: rightToLeft })
  const memories = [
    { text: 'Releases go out on Tuesdays.', type: 'fact', tags: ['release'], priority: 10 },
    { text: rightToLeft, type: 'preference', tags: ['עברית'] },
    { text: `${longName}. ${unbroken}`, tags: [unbroken, 'billing'], priority: 2_147_483_647 },
  ]
  for (const memory of memories) await created(`POST /api/v1/managed_agents/agents/${agent}/memory`, memory)
}

async function addAccess({ call, created }: Api, agent: string): Promise<void> {
  await call('POST /api/vault', { key: 'GITHUB_TOKEN', value: 'ghp_sample_0123456789', scope: 'global' })
  await call('POST /api/vault', { key: 'GITHUB_WEBHOOK_SECRET', value: 'sample-0123456789', scope: 'global' })
  await call('POST /api/vault', {
    key: `TOKEN_${'OF_A_SERVICE_'.repeat(6)}X`,
    value: 'sample-0123456789',
    scope: 'global',
  })
  const keys = [
    {
      label: 'Ada, laptop',
      owner_id: 'ada',
      models: ['claude-sonnet-5'],
      max_budget: 50,
      budget_duration: '1mo',
      rpm_limit: 60,
    },
    { label: longName, owner_id: 'platform-and-developer-experience-team', max_budget: 1e12, tpm_limit: 1e12 },
    { label: 'מפתח של עדה', owner_id: 'עדה', duration: '30d' },
    { label: 'Operations', role: 'admin' },
  ]
  for (const key of keys) await created('POST /api/keys', key)
  await call(`PUT /api/budgets/agent/${agent}`, { max_budget: 5, soft_budget: 4, budget_duration: '30d' })
  await call('PUT /api/budgets/owner/platform-and-developer-experience-team', {
    max_budget: 999_999_999_999,
    budget_duration: '1mo',
  })
}

async function addPeople({ call, created }: Api) {
  const person = (name: string, more: object = {}) => created('POST /api/users', { name, ...more })
  const user = await person('Ada Lovelace', { email: 'ada@acme.example', role: 'admin' })
  const member = await person('Grace Hopper', { email: 'grace@acme.example' })
  const build = await person('Nightly build', { kind: 'service_account' })
  const hebrew = await person(rightToLeft, { role: 'viewer', email: `${'long'.repeat(12)}@platform.acme.example` })
  const leaver = await person(longName)
  await call(`PATCH /api/users/${leaver}`, { is_disabled: true })
  const team = await created('POST /api/teams', { name: 'Data', models: ['claude-*'], group: 'data-engineering' })
  const wide = await created('POST /api/teams', { name: longName, models, group: unbroken })
  await created('POST /api/teams', { name: 'צוות התפעול' })
  for (const id of [user, member, build, hebrew, leaver]) await call(`PUT /api/teams/${team}/members/${id}`)
  await call(`PUT /api/teams/${wide}/members/${user}`)
  await created('POST /api/keys', { label: 'Nightly build', user_id: build, team_id: team, owner_id: team })
  await call(`PUT /api/budgets/team/${team}`, { max_budget: 200, soft_budget: 150, budget_duration: '1mo' })
  return { user, team }
}

async function addMcpServers({ call }: Api, url: string): Promise<void> {
  const { server_id } = await call<{ server_id: string }>('POST /v1/mcp/server', {
    server_name: 'tickets',
    url,
    description: 'Tickets of the team',
  })
  await call(`POST /v1/mcp/server/${server_id}/test`, {})
  await call('POST /mcp-rest/tools/call', { server_id, name: 'echo', arguments: { word: 'ticket' } })
  await call('POST /v1/mcp/server', {
    server_name: 'documents-of-the-platform-and-developer-experience-team',
    url: `https://mcp.example.com/${unbroken}/mcp`,
    description: longName,
    require_approval: 'always',
  })
}

async function startSessions({ call, created }: Api, agents: Agents) {
  const start = (agent_id: string, prompt: string, title: string) =>
    created('POST /session', { agent_id, prompt, title })
  const until = (id: string, kind: string) =>
    eventually(
      async () => (await call<{ activity: { kind: string } }>(`GET /api/sessions/${id}`)).activity.kind === kind,
      { what: `activity ${kind} of ${id}` },
    )
  const session = await start(agents.scribe, 'Fix the flaky login test', 'Fix the flaky login test')
  const waitingSession = await start(agents.careful, 'Tidy up the old releases', longName)
  const failedSession = await start(agents.scribe, 'Summarise the incident', 'Summarise the incident')
  const runningSession = await start(agents.scribe, 'Watch the deployment', 'Watch the deployment')
  const rightToLeftSession = await start(agents.rightToLeft, 'לסכם את הדוח השבועי', 'לסכם את הדוח השבועי')
  const countingSession = await start(agents.counter, 'Count everything', unbroken)
  await Promise.all([
    until(session, 'idle'),
    until(waitingSession, 'approval'),
    until(failedSession, 'failed'),
    until(runningSession, 'tool'),
    until(rightToLeftSession, 'idle'),
    until(countingSession, 'idle'),
  ])
  return { session, waitingSession, failedSession, runningSession, rightToLeftSession, countingSession }
}

async function addTriggers({ call, created }: Api, { scribe, rightToLeft: hebrew }: Agents): Promise<void> {
  const prompt = 'Write the report'
  await created('POST /api/schedules', {
    name: 'Morning report',
    agent_id: scribe,
    cron: '30 9 * * MON-FRI',
    timezone: 'Europe/Berlin',
    prompt,
  })
  await created('POST /api/schedules', {
    name: longName,
    agent_id: hebrew,
    cron: '*/7 3,5,9-17 1-15 */2 MON-FRI',
    prompt,
  })
  for (const title of ['The door squeaks', longName, rightToLeft])
    await call('POST /api/deliveries', { agent_id: scribe, payload: { action: 'opened', issue: { number: 7, title } } })
  await created('POST /api/webhook-endpoints', {
    url: `https://hooks.example.com/${unbroken}`,
    owner_id: 'ada',
    description: longName,
    events: ['session.status_idle', 'session.error'],
  })
}
