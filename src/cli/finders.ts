import { memoryRoutes } from '../contract/memories.ts'
import { sessionRoutes } from '../contract/sessions.ts'
import type { CandidatePage, Finder } from './names.ts'

const limit = 200
const wholeId = (prefix: string) => new RegExp(`^${prefix}_[0-9a-f]{32}$`)

const pageOf = <Row>(
  rows: readonly Row[],
  nextCursor: string | null | undefined,
  candidate: (row: Row) => { id: string; name: string },
): CandidatePage => ({ candidates: rows.map(candidate), nextCursor })

const byName = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name })

/** Agents, by name. */
export const agentFinder: Finder = {
  kind: 'agent',
  isByName: true,
  wholeId: wholeId('agent'),
  async list(client, page) {
    const { agents, next_cursor } = await client.agents.list({ query: { limit, ...page } })
    return pageOf(agents, next_cursor, byName)
  },
}

/** Sessions, by title. */
export const sessionFinder: Finder = {
  kind: 'session',
  wholeId: wholeId('ses'),
  async list(client, page) {
    const { data, nextCursor } = await client.page(sessionRoutes.list, { query: { limit, ...page } })
    return pageOf(data, nextCursor, ({ id, title }) => ({ id, name: title }))
  },
}

/** Schedules, by name. */
export const scheduleFinder: Finder = {
  kind: 'schedule',
  isByName: true,
  async list(client, page) {
    const { schedules, next_cursor } = await client.schedules.list({ query: { limit, ...page } })
    return pageOf(schedules, next_cursor, byName)
  },
}

/** Datasets, by name. */
export const datasetFinder: Finder = {
  kind: 'dataset',
  isByName: true,
  wholeId: wholeId('dset'),
  async list(client, page) {
    const { datasets, next_cursor } = await client.datasets.list({ query: { limit, ...page } })
    return pageOf(datasets, next_cursor, byName)
  },
}

/** Cases of the dataset that the first argument names, by name. */
export const caseFinder: Finder = {
  kind: 'case',
  isByName: true,
  wholeId: wholeId('case'),
  async list(client, page, [dataset_id = '']) {
    const { cases, next_cursor } = await client.datasets.cases({ params: { dataset_id }, query: { limit, ...page } })
    return pageOf(cases, next_cursor, byName)
  },
}

/** Experiments, by name. */
export const experimentFinder: Finder = {
  kind: 'experiment',
  isByName: true,
  wholeId: wholeId('exp'),
  async list(client, page) {
    const { experiments, next_cursor } = await client.experiments.list({ query: { limit, ...page } })
    return pageOf(experiments, next_cursor, byName)
  },
}

/** Virtual keys, by label. */
export const keyFinder: Finder = {
  kind: 'key',
  wholeId: wholeId('key'),
  async list(client, page) {
    const { keys, next_cursor } = await client.keys.list({ query: { limit, ...page } })
    return pageOf(keys, next_cursor, ({ id, label }) => ({ id, name: label }))
  },
}

/** Skills of the library, by name. */
export const skillFinder: Finder = {
  kind: 'skill',
  isByName: true,
  wholeId: wholeId('skill'),
  async list(client, page) {
    const { data, next_cursor } = await client.skills.list({ query: { limit, ...page } })
    return pageOf(data, next_cursor, byName)
  },
}

/** Memories of the agent that the first argument names. */
export const memoryFinder: Finder = {
  kind: 'memory',
  wholeId: wholeId('mem'),
  async list(client, page, [agent_id = '']) {
    const query = { limit, include_disabled: true, track: false, ...page }
    const { data, nextCursor } = await client.page(memoryRoutes.list, { params: { agent_id }, query })
    return pageOf(data, nextCursor, ({ id, text }) => ({ id, name: text }))
  },
}

/** Approvals, by the name of their tool. */
export const approvalFinder: Finder = {
  kind: 'approval',
  async list(client, page) {
    const { approvals, next_cursor } = await client.approvals.list({ query: { limit, state: 'pending', ...page } })
    return pageOf(approvals, next_cursor, byName)
  },
}

/** Spending freezes, by their target. */
export const freezeFinder: Finder = {
  kind: 'freeze',
  async list(client, page) {
    const { freezes, next_cursor } = await client.controls.freezes({ query: { limit, ...page } })
    return pageOf(freezes, next_cursor, ({ id, scope_id, scope }) => ({ id, name: scope_id ?? scope }))
  },
}

/** MCP servers, by name. */
export const mcpServerFinder: Finder = {
  kind: 'MCP server',
  isByName: true,
  async list(client) {
    const servers = await client.mcp.list()
    return pageOf(servers, null, ({ server_id, server_name }) => ({ id: server_id, name: server_name }))
  },
}

/** Environments, by name. */
export const environmentFinder: Finder = {
  kind: 'environment',
  isByName: true,
  async list(client, { cursor }) {
    const query = { limit: 100, ...(cursor !== undefined && { page: cursor }) }
    const { data, next_page } = await client.environments.list({ query })
    return pageOf(data, next_page, byName)
  },
}

/** Receivers of session events, by address. */
export const endpointFinder: Finder = {
  kind: 'webhook endpoint',
  async list(client, page) {
    const { endpoints, next_cursor } = await client.webhookEndpoints.list({ query: { limit, ...page } })
    return pageOf(endpoints, next_cursor, ({ id, url }) => ({ id, name: url }))
  },
}

/** Deliveries to the webhook endpoint that the first argument names. */
export const endpointDeliveryFinder: Finder = {
  kind: 'delivery',
  async list(client, page, [endpoint_id = '']) {
    const query = { limit, ...page }
    const answer = await client.webhookEndpoints.deliveries({ params: { endpoint_id }, query })
    return pageOf(answer.deliveries, answer.next_cursor, ({ id, event_type }) => ({ id, name: event_type }))
  },
}

/** Deliveries to agents, by the id of the sender. */
export const deliveryFinder: Finder = {
  kind: 'delivery',
  async list(client, page) {
    const { deliveries, next_cursor } = await client.webhooks.list({ query: { limit, ...page } })
    return pageOf(deliveries, next_cursor, ({ id, request_id }) => ({ id, name: request_id }))
  },
}

/** Configured models, by the name for clients. */
export const modelFinder: Finder = {
  kind: 'model',
  async list(client, page) {
    const { models, next_cursor } = await client.modelSettings.list({ query: { limit, ...page } })
    return pageOf(models, next_cursor, ({ id, model_name }) => ({ id, name: model_name }))
  },
}

/** Vault entries, by their name, which is their id. */
export const vaultFinder: Finder = {
  kind: 'vault entry',
  isExact: true,
  isByName: true,
  async list(client, page) {
    const { keys, next_cursor } = await client.vault.list({ query: { limit, ...page } })
    return pageOf(keys, next_cursor, ({ key }) => ({ id: key, name: key }))
  },
}

/** People and service accounts, by name. */
export const userFinder: Finder = {
  kind: 'user',
  isByName: true,
  wholeId: wholeId('user'),
  async list(client, page) {
    const { users, next_cursor } = await client.users.list({ query: { limit, ...page } })
    return pageOf(users, next_cursor, byName)
  },
}

/** Teams, by name. */
export const teamFinder: Finder = {
  kind: 'team',
  isByName: true,
  wholeId: wholeId('team'),
  async list(client, page) {
    const { teams, next_cursor } = await client.teams.list({ query: { limit, ...page } })
    return pageOf(teams, next_cursor, byName)
  },
}

/** Members of the team that the first argument names, by name. */
export const memberFinder: Finder = {
  kind: 'member',
  isByName: true,
  wholeId: wholeId('user'),
  async list(client, page, [team_id = '']) {
    const { members, next_cursor } = await client.teams.members({ params: { team_id }, query: { limit, ...page } })
    return pageOf(members, next_cursor, ({ user_id, name }) => ({ id: user_id, name }))
  },
}

/** Providers, by id. */
export const providerFinder: Finder = {
  kind: 'provider',
  isExact: true,
  isByName: true,
  async list(client) {
    const { providers } = await client.providers.list()
    return pageOf(providers, null, ({ id, name }) => ({ id, name }))
  },
}
