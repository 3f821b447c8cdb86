import { compact, isRecord, type Json, nonEmptyText, recordsOf } from '../../platform/json.ts'
import { paragraphs, placeOf } from '../prompt-words.ts'
import { repositoryIn } from '../repository.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

const maxNameLength = 200

/** What our things are called over there, for whoever looks at them; they belong to one session each. */
const nameOf = ({ title, id }: RunSession): string => title.trim().slice(0, maxNameLength) || `Session ${id}`

const metadataOf = ({ id, agent_id }: RunSession) =>
  compact({ switchyard_session: id, switchyard_agent: nonEmptyText(agent_id) })

/** The agent of a session: made at its first prompt, whose model it keeps. Dialects: section 1.3. */
export function agentBody(session: RunSession, { model }: RunPrompt, memories: string): Json {
  const { tools, servers } = toolsOf(session)
  const system = paragraphs(session.system, placeOf(session), memories)
  return compact({
    name: nameOf(session),
    model,
    system: nonEmptyText(system),
    tools: tools.length > 0 ? tools : undefined,
    mcp_servers: servers.length > 0 ? servers : undefined,
    metadata: metadataOf(session),
  })
}

const toolsetType = /^agent_toolset_\d{8}$/

/**
 * What of the agent's tools that server understands. An agent that names none gets the whole set, as it does here; a list
 * of other entries gives none of them, so that a misspelt entry never gives more. Our choice.
 */
function toolsOf({ tools, config }: RunSession): { tools: readonly Json[]; servers: readonly Json[] } {
  // No tools are an empty list, an empty object or null.
  if (Object.keys(tools ?? {}).length === 0) return { tools: [{ type: 'agent_toolset_20260401' }], servers: [] }
  const entries = isRecord(tools) && typeof tools['type'] === 'string' ? [tools] : recordsOf(tools)
  const known = recordsOf(config['mcp_servers']).filter(isUrlServer)
  const usable = entries.filter(({ type, mcp_server_name }) => {
    if (type === 'mcp_toolset') return known.some(({ name }) => name === mcp_server_name)
    return type === 'custom' || toolsetType.test(String(type))
  })
  // A server that no toolset names is refused over there.
  const servers = known.filter(({ name }) => usable.some(({ mcp_server_name }) => mcp_server_name === name))
  return { tools: usable, servers: servers.map(({ name, url }) => ({ type: 'url', name, url })) }
}

const isUrlServer = ({ type, name, url }: Json): boolean =>
  (type === undefined || type === 'url') && typeof name === 'string' && typeof url === 'string'

/** Where its tools work: in the cloud with an open network, unless the session's `environment` says otherwise. */
export function environmentBody(session: RunSession): Json {
  const { config, networking, packages } = session.environment
  const cloud = {
    type: 'cloud',
    networking: isRecord(networking) ? networking : { type: 'unrestricted' },
    packages: isRecord(packages) ? packages : undefined,
  }
  const asked = isRecord(config) && typeof config['type'] === 'string' ? config : compact(cloud)
  return { name: nameOf(session), config: asked, metadata: metadataOf(session) }
}

/** A session over there, with the repository that ours names. Dialects: section 1.5. */
export function sessionBody(session: RunSession, agent: string, environment_id: string): Json {
  const repository = repositoryOf(session.environment)
  return compact({
    agent,
    environment_id,
    title: nameOf(session),
    resources: repository && [repository],
    metadata: metadataOf(session),
  })
}

function repositoryOf(environment: Json): Json | undefined {
  const found = repositoryIn(environment)
  if (!found) return undefined
  const { url, ref } = found
  return compact({ type: 'github_repository', url, checkout: ref && { type: 'branch', name: ref } })
}

/** A prompt as the message that is sent. The agent is fixed over there, so a system prompt of its own goes in front. */
export function messageOf({ parts, system }: RunPrompt): Json {
  const instructions = system === null ? [] : [{ type: 'text', text: `Instructions for this message:\n${system}` }]
  return { type: 'user.message', content: [...instructions, ...parts.map(({ text }) => ({ type: 'text', text }))] }
}

/** All text of a message, to know it again. */
export const textOfMessage = ({ content }: Json): string =>
  recordsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n')
