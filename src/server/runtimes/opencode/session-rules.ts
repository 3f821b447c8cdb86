import { permissionsOf } from './settings.ts'

/** One rule of a session at opencode; of several that fit the last one counts. */
export interface SessionRule {
  readonly permission: string
  readonly pattern: string
  readonly action: 'allow' | 'ask' | 'deny'
}

/**
 * What an agent's `tools` say, for a session at any server. An agent that allows everything brings no rules: those of the
 * server, which may be stricter, stay in force.
 */
export function sessionRules(agentTools: unknown): SessionRule[] {
  const permissions = permissionsOf(agentTools)
  if (permissions['*'] === 'allow') return []
  return Object.entries(permissions).map(([permission, action]) => ({ permission, pattern: '*', action }))
}
