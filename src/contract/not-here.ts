/** Paths of the Managed Agents dialect that are no routes of the service, and what it has in their place. */
const instead = {
  '/v1/vaults': 'secrets have names here, under /api/vault',
  '/v1/memory_stores': 'memories belong to an agent here, under /api/v1/managed_agents/agents/{agent_id}/memory',
  '/v1/skills': 'the library of skills is under /api/v1/skills',
  '/v1/files': 'no files are kept yet; send text in a message, or name a repository',
  '/v1/deployments': 'agents are started by time under /api/schedules',
} as const

/** What the service has in the place of a path, which may hold ids behind it; undefined when nothing is known of it. */
export function insteadOf(path: string): string | undefined {
  const known = Object.entries(instead).find(([start]) => path === start || path.startsWith(`${start}/`))
  return known?.[1]
}
