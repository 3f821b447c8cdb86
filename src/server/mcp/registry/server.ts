import type { McpAuthType, Oauth2Flow } from '../../../contract/mcp.ts'
import type { StdioCommand } from '../../config/agent-settings.ts'
import type { KeyAccess } from '../../http/caller.ts'

/** Secrets of a server. They are sent only to the host of its address, and to its token endpoint. Security: S25. */
export interface ServerSecret {
  readonly auth_value?: string
  readonly client_id?: string
  readonly client_secret?: string
  readonly scopes?: readonly string[]
  readonly token_url?: string
  readonly static_headers?: Readonly<Record<string, string>>
}

/** Facts of a server that are no secret. */
export interface ServerFacts {
  readonly server_name: string
  readonly alias: string | null
  readonly description: string | null
  readonly url: string
  readonly auth_type: McpAuthType
  /** Null unless `auth_type` is `oauth2`. */
  readonly oauth2_flow: Oauth2Flow | null
  readonly has_credentials: boolean
  readonly vault_key: string | null
  /** With masked values. */
  readonly static_headers: Readonly<Record<string, string>>
  readonly allowed_tools: readonly string[] | null
  readonly disallowed_tools: readonly string[] | null
  /** Tools whose calls in sessions need a person; null for none. */
  readonly require_approval: 'always' | readonly string[] | null
  /** Changes with every stored change; caches use it as a part of their key. */
  readonly version: number
}

/** A server of the registry or of the configuration file. */
export interface RegisteredServer extends ServerFacts {
  readonly server_id: string
  readonly isConfigured: boolean
  /** The principal whose login authenticates requests; present with `authorization_code`. */
  readonly login?: string
  /** Present for a program that the service starts; `url` then identifies its command line. */
  readonly stdio?: StdioCommand
  readonly created_at: Date | null
  readonly updated_at: Date | null
  /** Returns the decrypted secrets. Throws `unavailable` when they cannot be decrypted. */
  secret(): ServerSecret
}

type Named = Pick<RegisteredServer, 'server_id' | 'server_name' | 'alias'>
type KeyLists = Pick<KeyAccess, 'mcpServers' | 'mcpTools'> | undefined

/** Names by which callers and keys can refer to a server. */
export const namesOf = ({ server_id, server_name, alias }: Named): string[] =>
  alias === null ? [server_id, server_name] : [server_id, server_name, alias]

/** True if a key may use the server. */
export const mayUseServer = (server: Named, key: KeyLists): boolean =>
  key?.mcpServers === undefined || namesOf(server).some(name => key.mcpServers?.includes(name))

/** True if each call of the tool in a session needs a person. */
export const needsApproval = (
  { require_approval }: Pick<RegisteredServer, 'require_approval'>,
  tool: string,
): boolean => require_approval === 'always' || require_approval?.includes(tool) === true

/** Decides which tools of a server a key may see and call. Undefined when there is no restriction. */
export type ToolRule = ((tool: string) => boolean) | undefined

/** Returns the rule from the lists of the server and of the key. */
export function toolRuleOf(
  server: Named & Pick<RegisteredServer, 'allowed_tools' | 'disallowed_tools'>,
  key: KeyLists,
): ToolRule {
  const ofKey = namesOf(server).flatMap(name => {
    const tools = key?.mcpTools && Object.hasOwn(key.mcpTools, name) ? key.mcpTools[name] : undefined
    return tools ? [tools] : []
  })
  const { allowed_tools, disallowed_tools } = server
  const allowed = [...ofKey, ...(allowed_tools ? [allowed_tools] : [])]
  const denied = disallowed_tools ?? []
  if (allowed.length === 0 && denied.length === 0) return undefined
  return tool => allowed.every(list => list.includes(tool)) && !denied.includes(tool)
}
