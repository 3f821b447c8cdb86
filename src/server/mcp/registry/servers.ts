import {
  type McpServer,
  type McpServerCreate,
  type McpServerUpdate,
  type McpStoredToolLists,
  type McpTool,
  reservedServerNames,
} from '../../../contract/mcp.ts'
import type { Audit } from '../../audit/audit.ts'
import { sqlOfClient } from '../../db/once.ts'
import type { By, Caller } from '../../http/caller.ts'
import { rejectNarrow } from '../../http/reach.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import type { LoginStore } from '../login/store.ts'
import { checkCredentials, checkedHeaders, type ServerEncryption } from './credentials.ts'
import { auditFields, shownServer } from './records.ts'
import { mayUseServer, namesOf, type RegisteredServer, type ServerSecret } from './server.ts'
import type { ServerCache } from './server-cache.ts'
import type { McpStateStore, ServerState } from './state-store.ts'
import type { McpServerStore, ServerRow, ServerValues } from './store.ts'
import { isUrlServerId, serverOfUrl } from './url-server.ts'
import { flowAfter, keep, rejectUnsupported } from './writes.ts'

interface Deps {
  readonly store: McpServerStore
  readonly cache: ServerCache
  readonly states: McpStateStore
  readonly logins: Pick<LoginStore, 'addressesOf'>
  readonly encryption: ServerEncryption
  /** Servers of the configuration file, which have precedence. */
  readonly configured: () => readonly RegisteredServer[]
  /** The current guard of outbound addresses. */
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
  readonly audit: Audit
}

type Write = McpServerUpdate

const maxServers = 500

/** The registry: who may use which server, and what a write changes. */
export type McpServers = ReturnType<typeof createMcpServers>

export function createMcpServers({ store, cache, states, logins, encryption, configured, guard, audit }: Deps) {
  /** By row, because calls share the rows of the cache. */
  const registered = new WeakMap<ServerRow, RegisteredServer>()

  function ofRow(row: ServerRow): RegisteredServer {
    const known = registered.get(row)
    if (known) return known
    const server = { ...row, isConfigured: false, secret: () => encryption.decrypt(row) }
    registered.set(row, server)
    return server
  }

  /** Runs a write; this process sees it at once. */
  const written = <T>(work: Parameters<typeof store.write<T>>[0]): Promise<T> => store.write(work).finally(cache.clear)

  const configuredBy = (name: string) => configured().find(server => namesOf(server).includes(name))

  /** Returns the server with this id, name or alias. Throws `not_found` also for one that the key may not use. */
  async function find(name: string, caller: CallerOfServers): Promise<RegisteredServer> {
    const row = configuredBy(name) ?? (await cache.find(name))
    const server = row && ('isConfigured' in row ? row : ofRow(row))
    if (!server || !mayUseServer(server, caller.key)) throw notFound('MCP server', name)
    return withLogin(server, caller)
  }

  /** Like `find`; an admin also gets servers that agents name by their address. */
  async function findAny(name: string, caller: Caller): Promise<RegisteredServer> {
    const isUrl = isUrlServerId(name) && caller.role === 'admin' && caller.key?.mcpServers === undefined
    const state = isUrl ? await states.byId(name) : undefined
    return state ? serverOfUrl({ name: new URL(state.url).hostname, url: state.url }) : find(name, caller)
  }

  async function available(caller: CallerOfServers): Promise<RegisteredServer[]> {
    const all = configured()
    const taken = new Set(all.flatMap(namesOf))
    const stored = (await cache.list()).filter(({ server_name }) => !taken.has(server_name)).map(ofRow)
    return [...all, ...stored]
      .filter(server => mayUseServer(server, caller.key))
      .map(server => withLogin(server, caller))
  }

  /** Throws unless the caller may change the server. A caller without permission also gets 404 for an unknown one. */
  async function mustExist(name: string, by: By): Promise<void> {
    const server = await find(name, by.caller)
    rejectNarrow(by)
    if (!server.isConfigured) return
    const shown = `MCP server ${server.server_name}`
    throw new AppError('conflict', `${shown} comes from the configuration file; change it there`)
  }

  function checkedUrl(url: string, field: string): string {
    const problem = blockedReasonFor(url, guard())
    if (problem !== undefined) throw invalid(`${field} is not allowed: ${problem}`)
    if (url.includes('#')) throw invalid(`${field} must not have a fragment`)
    return new URL(url).href
  }

  /** Returns the secrets after a write. A new address without credentials drops the stored ones. Security: S25. */
  function secretAfter(write: Write, { type, isMoved, before }: SecretContext): ServerSecret {
    const stored = (): ServerSecret => (isMoved || !before ? {} : encryption.decrypt(before))
    const isDropped = type === 'none' || typeof write.vault_key === 'string'
    const { static_headers: _headers, ...kept } = isDropped || write.credentials !== undefined ? {} : stored()
    const credentials = write.credentials ?? kept
    if (credentials.token_url !== undefined) checkedUrl(credentials.token_url, 'credentials.token_url')
    const hasHeaders = Object.keys(before?.static_headers ?? {}).length > 0
    const headers =
      write.static_headers === undefined
        ? hasHeaders && stored().static_headers
        : write.static_headers && checkedHeaders(write.static_headers)
    return { ...credentials, ...(headers && Object.keys(headers).length > 0 && { static_headers: headers }) }
  }

  function valuesAfter(id: string, write: Write, before: ServerRow | undefined): ServerValues {
    rejectUnsupported(write)
    const server_name = write.server_name ?? before?.server_name ?? ''
    const url = write.url === undefined ? (before?.url ?? '') : checkedUrl(write.url, 'url')
    const type = write.auth_type ?? before?.auth_type ?? 'none'
    const flow = flowAfter(write, type, before)
    const isMoved = url !== before?.url
    const isVaultDropped = isMoved || write.credentials || type === 'none'
    const vault_key = write.vault_key === undefined && isVaultDropped ? null : keep(write.vault_key, before?.vault_key)
    const secret = secretAfter(write, { type, isMoved, before })
    const { static_headers: _headers, ...credentials } = secret
    checkCredentials(type, { credentials, flow, vaultKey: vault_key, isRequired: before === undefined })
    return {
      server_name,
      alias: keep(write.alias, before?.alias),
      description: keep(write.description, before?.description),
      url,
      auth_type: type,
      oauth2_flow: flow,
      vault_key,
      allowed_tools: keep(write.allowed_tools, before?.allowed_tools),
      disallowed_tools: keep(write.disallowed_tools, before?.disallowed_tools),
      require_approval:
        write.require_approval === 'never' ? null : keep(write.require_approval, before?.require_approval),
      ...encryption.columns({ server_id: id, url }, secret, before?.version),
    }
  }

  /** Returns the record of a server as an admin or another caller sees it. */
  const shown = async (server: RegisteredServer, caller: Caller): Promise<McpServer> =>
    shownServer(server, await states.find(server), await readerOf(caller))

  const readerOf = async ({ role, principal }: Caller) => ({
    isForAdmin: role === 'admin',
    logins: await logins.addressesOf(principal),
  })

  return {
    find,

    /** Returns the servers that a caller may use. */
    available,

    async list(caller: Caller): Promise<McpServer[]> {
      const found = new Map((await states.list()).map(state => [state.server_id, state]))
      const reader = await readerOf(caller)
      return (await available(caller)).map(server => shownServer(server, found.get(server.server_id), reader))
    },

    async get(name: string, caller: Caller): Promise<McpServer> {
      return shown(await findAny(name, caller), caller)
    },

    /** Returns the accepted tool list of a server, and a changed one that waits. */
    async toolLists(name: string, caller: Caller): Promise<McpStoredToolLists> {
      const server = await findAny(name, caller)
      rejectNarrow({ caller })
      const state = await states.find(server)
      const pending_tools_hash = state?.pending_tools_hash ?? null
      return { accepted: mutable(state?.tools), pending: mutable(state?.pending_tools), pending_tools_hash }
    },

    async create(write: McpServerCreate, by: By): Promise<McpServer> {
      rejectNarrow(by)
      const server_id = newId('mcp')
      const values = valuesAfter(server_id, write, undefined)
      const row = await written(async client => {
        if ((await store.count(client)) >= maxServers)
          throw new AppError('conflict', `the registry has ${maxServers} MCP servers, its maximum; delete one first`)
        await rejectTaken(values, server_id, names => store.taken(client, names, server_id))
        const after = await store.insert(client, server_id, { ...values, created_by: by.caller.principal })
        const entry = { actor: by.actor, action: 'mcp_server.create', objectId: server_id, after: auditFields(after) }
        await audit.record(sqlOfClient(client), entry)
        return after
      })
      return shown(ofRow(row), by.caller)
    },

    async update(name: string, write: McpServerUpdate, by: By): Promise<McpServer> {
      await mustExist(name, by)
      const row = await written(async client => {
        const before = await store.find(name, client)
        if (!before) throw notFound('MCP server', name)
        const { server_id } = before
        const values = valuesAfter(server_id, write, before)
        await rejectTaken(values, server_id, names => store.taken(client, names, server_id))
        const after = await store.update(client, server_id, values)
        const fields = { before: auditFields(before), after: auditFields(after) }
        const entry = { actor: by.actor, action: 'mcp_server.update', objectId: server_id, ...fields }
        await audit.record(sqlOfClient(client), entry)
        return after
      })
      return shown(ofRow(row), by.caller)
    },

    async remove(name: string, by: By): Promise<void> {
      await mustExist(name, by)
      await written(async client => {
        const before = await store.find(name, client)
        if (!before) throw notFound('MCP server', name)
        const { server_id } = before
        await store.remove(client, server_id)
        const entry = { actor: by.actor, action: 'mcp_server.delete', objectId: server_id, before: auditFields(before) }
        await audit.record(sqlOfClient(client), entry)
      })
    },

    /** Accepts the changed tool list of a server; only the one with `hash` if that is given. */
    async accept(name: string, hash: string | undefined, by: By): Promise<McpServer> {
      const server = await findAny(name, by.caller)
      rejectNarrow(by)
      await states.transaction(async client => {
        const before = await states.find(server, client)
        if (!(await states.accept(client, server, hash))) throw nothingToAccept(server, before)
        await audit.record(sqlOfClient(client), {
          actor: by.actor,
          action: 'mcp_server.accept',
          objectId: server.server_id,
          before: { tools_sha256: before?.tools_hash },
          after: { tools_sha256: before?.pending_tools_hash },
        })
      })
      return shown(server, by.caller)
    },
  }

  async function rejectTaken(
    { server_name, alias }: Pick<ServerValues, 'server_name' | 'alias'>,
    server_id: string,
    taken: (names: readonly string[]) => Promise<string | undefined>,
  ): Promise<void> {
    const names = namesOf({ server_id, server_name, alias }).slice(1)
    if (alias === server_name) throw invalid('alias must differ from server_name')
    const reserved = names.find(name => reservedServerNames.includes(name.toLowerCase()))
    if (reserved !== undefined) throw invalid(`server_name ${reserved} is reserved; choose another name`)
    const used = names.find(configuredBy) ?? (await taken(names))
    if (used !== undefined)
      throw new AppError('conflict', `an MCP server with the name or alias ${used} exists already`)
  }
}

const nothingToAccept = ({ server_name }: RegisteredServer, state: ServerState | undefined): AppError =>
  new AppError(
    'conflict',
    state?.pending_tools_hash
      ? `the tools of MCP server ${server_name} changed again; review them once more`
      : `no changed tool list of MCP server ${server_name} waits for acceptance`,
  )

const mutable = (tools: readonly McpTool[] | null | undefined): McpTool[] | null => (tools ? [...tools] : null)

type CallerOfServers = Pick<Caller, 'key' | 'principal'>

/** Returns the server as a principal uses it: with its login, if the server needs one. */
const withLogin = (server: RegisteredServer, { principal }: CallerOfServers): RegisteredServer =>
  server.oauth2_flow === 'authorization_code' ? { ...server, login: principal } : server

interface SecretContext {
  readonly type: ServerValues['auth_type']
  /** True for a new server and for a new address. */
  readonly isMoved: boolean
  readonly before: ServerRow | undefined
}
