import type { Client } from '../client/client.ts'
import type { EnvironmentConfig } from '../contract/environments.ts'
import type { ExportedAgent, ExportFile } from './export-file.ts'
import type { AgentContent, ServiceContent } from './export-reader.ts'
import type { AgentPlan, ImportPlan, PlannedChange } from './import-plan.ts'

interface Importing {
  readonly client: Client
  readonly file: ExportFile
  readonly content: ServiceContent
  readonly plan: ImportPlan
  /** Called at once, since a later failure must not lose a secret. */
  readonly onSecret: (made: NewSecret) => void
}

/** Secret of a new webhook endpoint, which no later response contains. */
export interface NewSecret {
  readonly url: string
  readonly secret: string
}

/** Applies a plan object by object. A failure leaves what was done before; a repeated import continues. */
export async function applyImport({ client, file, content, plan, onSecret }: Importing): Promise<void> {
  for (const change of plan.skills) {
    const body = file.skills[change.at]
    if (!body || change.action === 'unchanged') continue
    if (change.id === undefined) await client.skills.create({ body })
    else await client.skills.update({ params: { skill_id: change.id }, body })
  }
  await applyEnvironments({ client, file, content, plan })
  const ids = new Map<string, string>()
  for (const [at, agent] of file.agents.entries()) {
    const agentPlan = plan.agents[at]
    if (!agentPlan) continue
    const before = content.agents.find(({ id }) => id === agentPlan.agent.id)
    ids.set(agent.id, await applyAgent(client, { agent, plan: agentPlan, before }))
  }
  await applyEndpoints({ client, file, plan, ids, onSecret })
}

async function applyEnvironments({ client, file, content, plan }: Omit<Importing, 'onSecret'>): Promise<void> {
  for (const { action, id, at } of plan.environments) {
    const environment = file.environments[at]
    if (!environment || action === 'unchanged') continue
    const body = { ...environment, config: environment.config as EnvironmentConfig }
    if (id === undefined) {
      await client.environments.create({ body })
      continue
    }
    const before = content.environments.find(found => found.id === id)?.metadata ?? {}
    const removed = Object.fromEntries(Object.keys(before).map(key => [key, null]))
    const changes = { ...body, metadata: { ...removed, ...environment.metadata } }
    await client.environments.update({ params: { environment_id: id }, body: changes })
  }
}

interface AgentImport {
  readonly agent: ExportedAgent
  readonly plan: AgentPlan
  readonly before: AgentContent | undefined
}

/** Returns the id of the agent. */
async function applyAgent(client: Client, { agent: file, plan, before }: AgentImport): Promise<string> {
  const id = before ? before.id : await createAgent(client, file)
  if (before && plan.agent.action === 'changed') await updateAgent(client, file, before)
  const params = { agent_id: id }
  const added = plan.memories.filter(({ action }) => action === 'created').flatMap(({ at }) => file.memories[at] ?? [])
  for (let from = 0; from < added.length; from += 1_000)
    await client.memories.import({ params, body: { memories: added.slice(from, from + 1_000) } })
  for (const { id: memoryId, at } of changed(plan.memories)) {
    const { source: _, ...body } = file.memories[at] ?? { source: 'ui' }
    await client.memories.update({ params: { agent_id: id, memory_id: memoryId }, body })
  }
  for (const { action, at } of plan.schedules) {
    const body = file.schedules[at]
    if (body && action === 'created') await client.schedules.create({ body: { ...body, agent_id: id } })
  }
  for (const { id: scheduleId, at } of changed(plan.schedules))
    await client.schedules.update({ params: { schedule_id: scheduleId }, body: file.schedules[at] ?? {} })
  return id
}

function* changed(changes: readonly PlannedChange[]): Generator<{ id: string; at: number }> {
  for (const { action, id, at } of changes) if (action === 'changed' && id !== undefined) yield { id, at }
}

async function createAgent(client: Client, { agent, skills, omitted }: ExportedAgent): Promise<string> {
  const body = { format: 'switchyard.agent', format_version: 1, agent, skills, omitted } as const
  return (await client.agents.import({ body })).id
}

/** Removes settings that the file does not have, but for those that contain omitted secrets. */
async function updateAgent(client: Client, { agent }: ExportedAgent, before: AgentContent): Promise<void> {
  const { harness, config, owner_id, ...fields } = agent
  const { omitted } = before.exported
  const isSecret = (key: string) => omitted.some(path => new RegExp(`^config\\.${RegExp.escape(key)}\\b`).test(path))
  const removed = Object.keys(before.exported.agent.config).filter(key => !(key in config) && !isSecret(key))
  const body = {
    ...fields,
    runtime: harness,
    config: { ...Object.fromEntries(removed.map(key => [key, null])), ...config },
    owner_id: owner_id ?? before.exported.agent.owner_id ?? '',
  }
  await client.agents.update({ params: { agent_id: before.id }, body })
}

interface EndpointImport extends Pick<Importing, 'client' | 'file' | 'plan' | 'onSecret'> {
  /** Ids of the file's agents in the service. */
  readonly ids: ReadonlyMap<string, string>
}

async function applyEndpoints({ client, file, plan, ids, onSecret }: EndpointImport): Promise<void> {
  for (const { action, id, at } of plan.endpoints) {
    const endpoint = file.webhook_endpoints[at]
    if (!endpoint || action === 'unchanged') continue
    const { owner_id, ...fields } = endpoint
    const body = { ...fields, agent_ids: endpoint.agent_ids.map(old => ids.get(old) ?? old) }
    if (id === undefined) {
      const made = await client.webhookEndpoints.create({ body: { ...body, ...(owner_id !== null && { owner_id }) } })
      onSecret({ url: made.url, secret: made.secret })
    } else await client.webhookEndpoints.update({ params: { endpoint_id: id }, body })
  }
}
