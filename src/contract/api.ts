import { agentRoutes } from './agents.ts'
import { eventRoutes } from './events.ts'
import { messageRoutes } from './messages.ts'
import { modelRoutes } from './models.ts'
import { openAiRoutes } from './openai.ts'
import type { Route } from './route.ts'
import { sessionRoutes } from './sessions.ts'
import { systemRoutes } from './system.ts'

/** The version that `/openapi.json` reports. Interface: Versioning, rule 1. */
export const apiVersion = '0.1.0'

/** Every route of the service by group. A route that is missing here does not exist. */
export const api = {
  System: systemRoutes,
  Models: modelRoutes,
  Messages: messageRoutes,
  OpenAI: openAiRoutes,
  Agents: agentRoutes,
  Sessions: sessionRoutes,
  Events: eventRoutes,
} as const

/** All routes in one list, each with the name of its group. */
export const allRoutes: readonly (Route & { readonly group: string })[] = Object.entries(api).flatMap(
  ([group, routes]) => Object.values<Route>(routes).map(spec => ({ ...spec, group })),
)
