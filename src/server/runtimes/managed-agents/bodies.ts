import { compact, isRecord, type Json, nonEmptyText, recordsOf } from '../../platform/json.ts'
import { paragraphs, textOfPart, timezoneNote } from '../prompt-words.ts'
import { repositoryIn } from '../repository.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

const maxNameLength = 200

/** Display name of the provider objects of a session. */
const nameOf = ({ title, id }: RunSession): string => title.trim().slice(0, maxNameLength) || `Session ${id}`

const metadataOf = ({ id, agent_id }: RunSession) =>
  compact({ switchyard_session: id, switchyard_agent: nonEmptyText(agent_id) })

/** Returns the body that creates the agent of a session, with the model of the first prompt. Dialects: section 1.3. */
export function agentBody(session: RunSession, { model }: RunPrompt, memories: string): Json {
  const { tools, servers } = toolsOf(session)
  const system = paragraphs(session.system, timezoneNote(session), memories)
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
 * Returns the agent's tools that the server supports. An agent without tools gets the whole toolset and those of its MCP
 * servers, as on the built-in runtime. Unknown entries are dropped and never widen the set, so a misspelt entry grants nothing. Our choice.
 */
function toolsOf({ tools, config }: RunSession): { tools: readonly Json[]; servers: readonly Json[] } {
  // An empty list, an empty object and null mean that no tools are set.
  const configured = recordsOf(config['mcp_servers']).filter(isUrlServer)
  const isUnset = Object.keys(tools ?? {}).length === 0
  const all = configured.map(({ name }) => ({ type: 'mcp_toolset', mcp_server_name: name }))
  const given = isRecord(tools) && typeof tools['type'] === 'string' ? [tools] : recordsOf(tools)
  const entries = isUnset ? [{ type: 'agent_toolset_20260401' }, ...all] : given
  const usable = entries.filter(({ type, mcp_server_name }) => {
    if (type === 'mcp_toolset') return configured.some(({ name }) => name === mcp_server_name)
    return type === 'custom' || toolsetType.test(String(type))
  })
  // The provider rejects a server that no toolset uses.
  const servers = configured.filter(({ name }) => usable.some(({ mcp_server_name }) => mcp_server_name === name))
  return { tools: usable, servers: servers.map(({ name, url }) => ({ type: 'url', name, url })) }
}

const isUrlServer = ({ type, name, url }: Json): boolean =>
  (type === undefined || type === 'url') && typeof name === 'string' && typeof url === 'string'

/**
 * Returns the body of the environment: a cloud with unrestricted network, unless the session's `environment` overrides
 * it.
 */
export function environmentBody(session: RunSession): Json {
  const { config, networking, packages } = session.environment
  const cloud = {
    type: 'cloud',
    networking: isRecord(networking) ? networking : { type: 'unrestricted' },
    packages: isRecord(packages) ? packages : undefined,
  }
  const wanted = isRecord(config) && typeof config['type'] === 'string' ? config : compact(cloud)
  return { name: nameOf(session), config: wanted, metadata: metadataOf(session) }
}

/** Returns the body of the provider's session, with the repository of ours. Dialects: section 1.5. */
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

/**
 * Returns the message of a prompt. The provider's agent is fixed, so the prompt's own system prompt precedes the text.
 */
export function messageOf({ parts, system }: RunPrompt): Json {
  const instructions = system === null ? [] : [{ type: 'text', text: `Instructions for this message:\n${system}` }]
  return {
    type: 'user.message',
    content: [...instructions, ...parts.map(part => ({ type: 'text', text: textOfPart(part) }))],
  }
}

/** Returns all text of a message, to recognize it later. */
export const textOfMessage = ({ content }: Json): string =>
  recordsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n')
