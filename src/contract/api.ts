import { agentRoutes } from './agents.ts'
import { approvalRoutes } from './approvals.ts'
import { auditRoutes } from './audit.ts'
import { budgetRoutes } from './budgets.ts'
import { controlRoutes } from './controls.ts'
import { environmentRoutes } from './environments.ts'
import { eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { geminiRoutes } from './gemini.ts'
import { keyRoutes } from './keys.ts'
import { managedAgentRoutes } from './managed-agents.ts'
import { dialectSessionRoutes } from './managed-sessions.ts'
import { memoryRoutes } from './memories.ts'
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
import { skillRoutes } from './skills.ts'
import { systemRoutes } from './system.ts'
import { usageRoutes } from './usage.ts'
import { vaultRoutes } from './vault.ts'
import { webhookEndpointRoutes } from './webhook-endpoints.ts'
import { webhookRoutes } from './webhooks.ts'

/** The version that `/openapi.json` reports. Interface: Versioning, rule 1. */
export const apiVersion = '0.1.0'

/** Every route of the service by group. A route that is missing here does not exist. */
export const api = {
  System: systemRoutes,
  Models: modelRoutes,
  Messages: messageRoutes,
  OpenAI: openAiRoutes,
  Endpoints: endpointRoutes,
  Gemini: geminiRoutes,
  Native: nativeRoutes,
  Agents: agentRoutes,
  Memories: memoryRoutes,
  Skills: skillRoutes,
  Webhooks: webhookRoutes,
  Sessions: sessionRoutes,
  Files: fileRoutes,
  Opencode: opencodeRoutes,
  Events: eventRoutes,
  ManagedAgents: managedAgentRoutes,
  Environments: environmentRoutes,
  ManagedSessions: dialectSessionRoutes,
  Approvals: approvalRoutes,
  Schedules: scheduleRoutes,
  WebhookEndpoints: webhookEndpointRoutes,
  RuntimeHarnesses: harnessRoutes,
  AgentRuntimes: agentRuntimeRoutes,
  Keys: keyRoutes,
  Budgets: budgetRoutes,
  Controls: controlRoutes,
  Vault: vaultRoutes,
  Audit: auditRoutes,
  Usage: usageRoutes,
  Providers: providerRoutes,
  ModelSettings: modelSettingRoutes,
} as const

/** The groups of the OpenAPI document that are named otherwise than in `api`, which names the groups of the client. */
const groupNames: Readonly<Record<string, string>> = {
  Endpoints: 'OpenAI',
  Opencode: 'opencode',
  Events: 'Sessions',
  Files: 'Sessions',
  ManagedAgents: 'Managed Agents',
  Environments: 'Managed Agents',
  ManagedSessions: 'Managed Agents',
  WebhookEndpoints: 'Webhook Endpoints',
  RuntimeHarnesses: 'Runtimes',
  AgentRuntimes: 'Runtimes',
  Keys: 'API Keys',
  Controls: 'Kill switches',
  ModelSettings: 'Models',
}

/** The groups of the OpenAPI document that come first, in this order. Interface: What the service does, 9. */
export const firstGroups = [
  'System',
  'Models',
  'Messages',
  'Agents',
  'Sessions',
  'Runtimes',
  'API Keys',
  'MCP',
] as const

/** All routes in one list, each with the name of its group in the OpenAPI document. */
export const allRoutes: readonly (Route & { readonly group: string })[] = Object.entries(api).flatMap(
  ([group, routes]) =>
    Object.values<Route>(routes).map(spec => ({ ...spec, group: spec.group ?? groupNames[group] ?? group })),
)

/** Every path of every route: the route itself, and once more for each of its aliases with that as its path. */
export const everyPath: typeof allRoutes = allRoutes.flatMap(spec => [
  spec,
  ...(spec.aliases ?? []).map(path => ({ ...spec, path })),
])
