import type { RunSession } from '../runtimes/runtime.ts'

/** Settings that say what the agent works with. Limits and the runtime stay those of the agent. */
const settings = ['mcp_servers', 'skills', 'model_config']

/** The agent as a session runs it: with what its environment has in `agent_overrides`. Dialects: section 1.5. */
export function withOverrides<A extends Pick<RunSession, 'system' | 'tools' | 'config'>>(
  agent: A,
  { agent_overrides: given }: RunSession['environment'],
): A {
  // An environment is kept as it was sent, so this may be anything.
  if (typeof given !== 'object' || given === null) return agent
  const { system, tools, config } = given as Readonly<Record<'system' | 'tools' | 'config', unknown>>
  const changed = typeof config === 'object' && config !== null ? config : {}
  const known = Object.entries(changed).filter(([key]) => settings.includes(key))
  return {
    ...agent,
    ...(typeof system === 'string' && { system }),
    ...(tools !== undefined && { tools }),
    config: { ...agent.config, ...Object.fromEntries(known) },
  }
}
