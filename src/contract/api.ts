import { a2aRoutes } from './a2a.ts'
import { agUiRoutes } from './ag-ui.ts'
import { agentRoutes } from './agents.ts'
import { approvalRoutes } from './approvals.ts'
import { auditRoutes } from './audit.ts'
import { batchRoutes } from './batches.ts'
import { budgetRoutes } from './budgets.ts'
import { consoleRoutes } from './console.ts'
import { controlRoutes } from './controls.ts'
import { customToolRoutes } from './custom-tools.ts'
import { datasetRoutes } from './datasets.ts'
import { deploymentRoutes } from './deployments.ts'
import { environmentRoutes } from './environments.ts'
import { eventRoutes } from './event-routes.ts'
import { experimentRoutes } from './experiments.ts'
import { fileRoutes } from './files.ts'
import { geminiRoutes } from './gemini.ts'
import { keyRoutes } from './keys.ts'
import { logSinkRoutes } from './log-sinks.ts'
import { managedAgentRoutes } from './managed-agents.ts'
import { managedDeploymentRoutes } from './managed-deployments.ts'
import { dialectSessionRoutes } from './managed-sessions.ts'
import { threadRoutes } from './managed-threads.ts'
import { managedVaultRoutes } from './managed-vaults.ts'
import { mcpRoutes } from './mcp.ts'
import { mcpCallRoutes } from './mcp-calls.ts'
import { mcpOwnRoutes } from './mcp-own.ts'
import { mcpAggregateRoutes, mcpProxyRoutes } from './mcp-proxy.ts'
import { memoryRoutes } from './memories.ts'
import { memoryStoreRoutes } from './memory-stores.ts'
import { memoryVersionRoutes } from './memory-versions.ts'
import { messageRoutes } from './messages.ts'
import { modelSettingRoutes } from './model-settings.ts'
import { modelRoutes } from './models.ts'
import { nativeRoutes } from './native.ts'
import { openAiRoutes } from './openai.ts'
import { endpointRoutes } from './openai-endpoints.ts'
import { opencodeRoutes } from './opencode.ts'
import { providerRoutes } from './providers.ts'
import type { Route } from './route.ts'
import { agentRuntimeRoutes, harnessRoutes } from './runtimes.ts'
import { scheduleRoutes } from './schedules.ts'
import { sessionRoutes } from './sessions.ts'
import { skillFolderRoutes } from './skill-folders.ts'
import { skillRoutes } from './skills.ts'
import { storedFileRoutes } from './stored-files.ts'
import { systemRoutes } from './system.ts'
import type { TagName } from './tags.ts'
import { teamRoutes } from './teams.ts'
import { usageRoutes } from './usage.ts'
import { userRoutes } from './users.ts'
import { vaultRoutes } from './vault.ts'
import { webhookCountRoutes } from './webhook-counts.ts'
import { webhookEndpointRoutes } from './webhook-endpoints.ts'
import { webhookReplyRoutes } from './webhook-replies.ts'
import { webhookRoutes } from './webhooks.ts'

/** Version that `/openapi.json` reports. Interface: Versioning, rule 1. */
export const apiVersion = '0.1.0'

/** Every route of the service by group. The server serves no other route. */
export const api = {
  System: systemRoutes,
  Console: consoleRoutes,
  Models: modelRoutes,
  Messages: messageRoutes,
  OpenAI: openAiRoutes,
  Endpoints: endpointRoutes,
  Batches: batchRoutes,
  StoredFiles: storedFileRoutes,
  Gemini: geminiRoutes,
  Native: nativeRoutes,
  Agents: agentRoutes,
  Mcp: mcpRoutes,
  McpCalls: mcpCallRoutes,
  McpProxy: mcpProxyRoutes,
  McpAggregate: mcpAggregateRoutes,
  McpOwn: mcpOwnRoutes,
  Memories: memoryRoutes,
  Skills: skillRoutes,
  SkillFolders: skillFolderRoutes,
  Webhooks: webhookRoutes,
  Sessions: sessionRoutes,
  Files: fileRoutes,
  Opencode: opencodeRoutes,
  Events: eventRoutes,
  ManagedAgents: managedAgentRoutes,
  Environments: environmentRoutes,
  ManagedSessions: dialectSessionRoutes,
  SessionThreads: threadRoutes,
  ManagedVaults: managedVaultRoutes,
  ManagedDeployments: managedDeploymentRoutes,
  MemoryStores: memoryStoreRoutes,
  MemoryVersions: memoryVersionRoutes,
  A2a: a2aRoutes,
  AgUi: agUiRoutes,
  Approvals: approvalRoutes,
  CustomTools: customToolRoutes,
  Schedules: scheduleRoutes,
  Datasets: datasetRoutes,
  Experiments: experimentRoutes,
  WebhookReplies: webhookReplyRoutes,
  WebhookCounts: webhookCountRoutes,
  WebhookEndpoints: webhookEndpointRoutes,
  RuntimeHarnesses: harnessRoutes,
  AgentRuntimes: agentRuntimeRoutes,
  Keys: keyRoutes,
  Users: userRoutes,
  Teams: teamRoutes,
  Budgets: budgetRoutes,
  Controls: controlRoutes,
  Vault: vaultRoutes,
  Audit: auditRoutes,
  Usage: usageRoutes,
  LogSinks: logSinkRoutes,
  Providers: providerRoutes,
  ModelSettings: modelSettingRoutes,
  Deployments: deploymentRoutes,
} as const

/** Tags of groups in the OpenAPI document that differ from the names that the client uses. */
const otherTags: Readonly<Record<Exclude<keyof typeof api, TagName>, TagName>> = {
  Endpoints: 'OpenAI',
  Mcp: 'MCP',
  McpCalls: 'MCP',
  McpProxy: 'MCP',
  McpAggregate: 'MCP',
  McpOwn: 'MCP',
  Opencode: 'opencode',
  Events: 'Sessions',
  Files: 'Sessions',
  StoredFiles: 'Stored files',
  SkillFolders: 'Skills',
  ManagedAgents: 'Managed Agents',
  Environments: 'Managed Agents',
  ManagedSessions: 'Managed Agents',
  SessionThreads: 'Managed Agents',
  ManagedVaults: 'Managed Agents',
  ManagedDeployments: 'Managed Agents',
  MemoryStores: 'Managed Agents',
  MemoryVersions: 'Managed Agents',
  A2a: 'A2A',
  AgUi: 'AG-UI',
  WebhookReplies: 'Webhooks',
  WebhookCounts: 'Webhooks',
  CustomTools: 'Custom tools',
  Datasets: 'Evaluations',
  Experiments: 'Evaluations',
  WebhookEndpoints: 'Webhook Endpoints',
  RuntimeHarnesses: 'Runtimes',
  AgentRuntimes: 'Runtimes',
  Keys: 'API Keys',
  Controls: 'Kill switches',
  LogSinks: 'Usage',
  ModelSettings: 'Models',
  Deployments: 'Models',
  Native: 'Provider APIs',
}

const isTag = (group: keyof typeof api): group is Extract<keyof typeof api, TagName> => !(group in otherTags)

/** All routes in one list, each with its tag in the OpenAPI document. */
export const allRoutes: readonly (Route & { readonly group: TagName })[] = (
  Object.keys(api) as (keyof typeof api)[]
).flatMap(key =>
  Object.values<Route>(api[key]).map(spec => ({ ...spec, group: spec.group ?? (isTag(key) ? key : otherTags[key]) })),
)

/** Every route, and a copy of it for each of its aliases. */
export const everyPath: typeof allRoutes = allRoutes.flatMap(spec => [
  spec,
  ...(spec.aliases ?? []).map(path => ({ ...spec, path })),
])
