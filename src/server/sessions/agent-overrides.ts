import type { RunSession } from '../runtimes/runtime.ts'

/** Keys of `config` that a session may override. Limits and the runtime always come from the agent. */
const settings = ['mcp_servers', 'skills', 'model_config']

/** Returns the agent with the `agent_overrides` of the session's environment applied. Source: Dialects, section 1.5. */
export function withOverrides<A extends Pick<RunSession, 'system' | 'tools' | 'config'>>(
  agent: A,
  { agent_overrides: given }: RunSession['environment'],
): A {
  // The environment is stored unchecked: this may have any type.
  if (typeof given !== 'object' || given === null) return agent
  const { system, tools, config } = given as Readonly<Record<'system' | 'tools' | 'config', unknown>>
  const changed = typeof config === 'object' && config !== null ? config : {}
  const allowed = Object.entries(changed).filter(([key]) => settings.includes(key))
  return {
    ...agent,
    ...(typeof system === 'string' && { system }),
    ...(tools !== undefined && { tools }),
    config: { ...agent.config, ...Object.fromEntries(allowed) },
  }
}
