/** Paths of the Managed Agents dialect that the service does not serve, with the alternative. */
const instead = {
  '/v1/vaults': 'use /api/vault, where secrets have names',
  '/v1/memory_stores': 'use /api/v1/managed_agents/agents/{agent_id}/memory: memories belong to an agent',
  '/v1/skills': 'use /api/v1/skills',
  '/v1/deployments': 'use /api/schedules',
} as const

/** Returns the alternative to a path, which may have ids after it; undefined when there is none. */
export function insteadOf(path: string): string | undefined {
  const known = Object.entries(instead).find(([start]) => path === start || path.startsWith(`${start}/`))
  return known?.[1]
}
