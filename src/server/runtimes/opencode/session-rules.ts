import type { GrantedServer } from '../../http/caller.ts'
import { permissionsOf } from './settings.ts'

/** A permission rule of an opencode session; the last matching rule applies. */
export interface SessionRule {
  readonly permission: string
  readonly pattern: string
  readonly action: 'allow' | 'ask' | 'deny'
}

/**
 * Converts an agent's `tools` to rules of a session. An agent that allows everything has no rules: those of the server,
 * which may be stricter, then apply.
 */
export function sessionRules(agentTools: unknown, mcpServers: readonly GrantedServer[] = []): SessionRule[] {
  const permissions = permissionsOf(agentTools, mcpServers)
  if (permissions['*'] === 'allow') return []
  return Object.entries(permissions).map(([permission, action]) => ({ permission, pattern: '*', action }))
}
