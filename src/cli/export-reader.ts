import type { Client } from '../client/client.ts'
import type { Agent } from '../contract/agents.ts'
import type { Environment } from '../contract/environments.ts'
import { type Memory, memoryRoutes } from '../contract/memories.ts'
import type { Schedule } from '../contract/schedules.ts'
import type { Skill } from '../contract/skills.ts'
import type { WebhookEndpoint } from '../contract/webhook-endpoints.ts'
import type { ExportedAgent, ExportedEndpoint, ExportedEnvironment } from './export-file.ts'

/** Everything of a service that an export contains, with the ids that an import needs. */
export interface ServiceContent {
  readonly skills: readonly Skill[]
  readonly environments: readonly Environment[]
  readonly agents: readonly AgentContent[]
  readonly endpoints: readonly WebhookEndpoint[]
}

/** An agent of the service. */
export interface AgentContent {
  readonly id: string
  readonly exported: ExportedAgent
  readonly memories: readonly Memory[]
  readonly schedules: readonly Schedule[]
}

/** Reads what the caller's key may see; with `owner` only the agents and endpoints of that owner. */
export async function readContent(client: Client, owner: string | undefined): Promise<ServiceContent> {
  const skills = await all(async cursor => {
    const page = await client.skills.list({ query: { limit: 200, ...cursor } })
    return [page.data, page.next_cursor]
  })
  const environments = await all(async ({ cursor }) => {
    const page = await client.environments.list({
      query: { limit: 200, ...(cursor !== undefined && { page: cursor }) },
    })
    return [page.data, page.next_page]
  })
  const listed = await all<Agent>(async cursor => {
    const query = { limit: 200, ...cursor, ...(owner !== undefined && { owner_id: owner }) }
    const page = await client.agents.list({ query })
    return [page.agents, page.next_cursor]
  })
  const endpoints = await all(async cursor => {
    const page = await client.webhookEndpoints.list({ query: { limit: 200, ...cursor } })
    return [page.endpoints, page.next_cursor]
  })
  const agents: AgentContent[] = []
  // Oldest first, so that the order of a file does not change when agents are added.
  for (const agent of listed.toReversed()) if (agent.status !== 'archived') agents.push(await readAgent(client, agent))
  return {
    skills: skills.toReversed(),
    environments: environments.toReversed(),
    agents,
    endpoints: endpoints.toReversed().filter(({ owner_id }) => owner === undefined || owner_id === owner),
  }
}

async function readAgent(client: Client, { id }: Agent): Promise<AgentContent> {
  const { agent, skills, omitted } = await client.agents.export({ params: { agent_id: id } })
  const memories = await all<Memory>(async cursor => {
    const query = { limit: 200, include_disabled: true, track: false, ...cursor }
    const { data, nextCursor } = await client.page(memoryRoutes.list, { params: { agent_id: id }, query })
    return [data, nextCursor ?? null]
  })
  const schedules = await all<Schedule>(async cursor => {
    const page = await client.schedules.list({ query: { limit: 200, agent_id: id, ...cursor } })
    return [page.schedules, page.next_cursor]
  })
  const exported = {
    id,
    agent,
    skills,
    omitted,
    memories: memories.map(memoryFields),
    schedules: schedules.toReversed().map(scheduleFields),
  }
  return { id, exported, memories, schedules }
}

export const skillFields = ({ name, description, content }: Skill) => ({ name, description, content })

export const environmentFields = ({ name, description, config, metadata }: Environment): ExportedEnvironment => ({
  name,
  description,
  config,
  metadata,
})

export const memoryFields = ({ text, tags, type, priority, source, disabled }: Memory) => ({
  text,
  tags,
  type,
  priority,
  source,
  disabled,
})

export const scheduleFields = (schedule: Schedule) => {
  const { name, cron, prompt, timezone, session, overlap, missed, missed_limit, status } = schedule
  return { name, cron, prompt, timezone, session, overlap, missed, missed_limit, status }
}

export const endpointFields = ({
  url,
  owner_id,
  description,
  events,
  agent_ids,
  status,
}: WebhookEndpoint): ExportedEndpoint => ({
  url,
  owner_id,
  description,
  events,
  agent_ids,
  // The service disables an endpoint; whoever imports it decides again.
  status: status === 'disabled' ? 'paused' : status,
})

type Cursor = { readonly cursor?: string }

/** Reads all pages. */
async function all<T>(read: (cursor: Cursor) => Promise<[readonly T[], string | null]>): Promise<T[]> {
  const items: T[] = []
  for (let cursor: Cursor = {}; ; ) {
    const [page, next] = await read(cursor)
    items.push(...page)
    if (next === null) return items
    cursor = { cursor: next }
  }
}
