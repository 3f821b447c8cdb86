import { type Static, Type } from 'typebox'
import { Verdict } from './approvals.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { JsonObject, Nullable, nullableFields } from './schemas.ts'

/** Pattern of server names and aliases. */
export const serverNamePattern = '^[A-Za-z0-9_-]{1,64}$'

/** Name of this service as an MCP server. */
export const ownServerName = 'switchyard'

/** Names that the service keeps for its own servers. */
export const reservedServerNames: readonly string[] = [ownServerName, 'memories']

const ServerName = Type.String({
  pattern: serverNamePattern,
  description: 'Letters, digits, `_` and `-`; 1 to 64 characters; unique among names and aliases',
})

export const McpAuthType = named(
  'McpAuthType',
  Type.Union(
    [
      Type.Literal('none'),
      Type.Literal('api_key'),
      Type.Literal('bearer_token'),
      Type.Literal('basic'),
      Type.Literal('authorization'),
      Type.Literal('oauth2'),
    ],
    {
      description:
        'How the credential is sent: `x-api-key`, `Authorization: Bearer`, `Authorization: Basic` (encoded by the service), `Authorization` as it is, or a token that the service obtains by `oauth2_flow`',
    },
  ),
)
export type McpAuthType = Static<typeof McpAuthType>

/** How tokens of `oauth2` are obtained. */
export const Oauth2Flow = named(
  'Oauth2Flow',
  Type.Union([Type.Literal('client_credentials'), Type.Literal('authorization_code')], {
    description:
      'For `oauth2`: one token for all callers with client credentials (default), or the login of each principal',
  }),
)
export type Oauth2Flow = Static<typeof Oauth2Flow>

const Secret = Type.String({ minLength: 1, maxLength: 10_000, pattern: '\\S' })

const Credentials = named(
  'McpCredentials',
  Type.Object({
    auth_value: Type.Optional(Secret),
    client_id: Type.Optional(Secret),
    client_secret: Type.Optional(Secret),
    scopes: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 50 })),
    token_url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_000,
        description:
          'Token endpoint; by default the one in the OAuth metadata of the server’s own origin. With `authorization_code` the client secret is sent to this origin only',
      }),
    ),
  }),
)

const ToolNames = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 500 })

const fields = {
  alias: ServerName,
  oauth2_flow: Oauth2Flow,
  description: Type.String({ maxLength: 1_000 }),
  credentials: Credentials,
  vault_key: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Name of a global vault entry that holds `auth_value`',
  }),
  static_headers: Type.Record(Type.String(), Type.String({ maxLength: 10_000 }), {
    description: 'Headers of every request to the server; the values are stored encrypted',
  }),
  allowed_tools: ToolNames,
  disallowed_tools: ToolNames,
}

const Url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Endpoint of the server; it must be public unless `outbound.allow` lists it',
})
const Transport = Type.Union([Type.Literal('http'), Type.Literal('sse'), Type.Literal('stdio')], {
  description: 'Only `http` (streamable HTTP); `stdio` servers are set in the configuration file',
})
const RequireApproval = Type.Union([Type.Literal('always'), Type.Literal('never'), ToolNames], {
  description: 'Tools whose calls in sessions wait for a person: all, none (the default) or those named',
})

export const McpServerCreate = named(
  'McpServerCreate',
  Type.Object({
    server_name: ServerName,
    url: Url,
    transport: Type.Optional(Transport),
    auth_type: Type.Optional(McpAuthType),
    require_approval: Type.Optional(RequireApproval),
    ...nullableFields(fields),
  }),
)
export type McpServerCreate = Static<typeof McpServerCreate>

/** Absent fields stay unchanged, except credentials: a new `url` without them removes the stored ones. */
export const McpServerUpdate = named(
  'McpServerUpdate',
  Type.Object({
    server_name: Type.Optional(ServerName),
    url: Type.Optional(Url),
    transport: Type.Optional(Transport),
    auth_type: Type.Optional(McpAuthType),
    require_approval: Type.Optional(RequireApproval),
    ...nullableFields(fields),
  }),
)
export type McpServerUpdate = Static<typeof McpServerUpdate>

const Time = Type.String({ format: 'date-time' })

/** A registered MCP server. Contains no credential. */
export const McpServer = named(
  'McpServer',
  Type.Object({
    server_id: Type.String(),
    server_name: Type.String(),
    alias: Nullable(Type.String()),
    description: Nullable(Type.String()),
    url: Nullable(Type.String(), 'null for `stdio`'),
    transport: Type.Union([Type.Literal('http'), Type.Literal('stdio')], {
      description: '`stdio`: a program of the configuration file, which the service starts',
    }),
    auth_type: McpAuthType,
    oauth2_flow: Nullable(Oauth2Flow, 'null unless `auth_type` is `oauth2`'),
    has_credentials: Type.Boolean({ description: 'Whether a credential is stored' }),
    has_login: Nullable(
      Type.Boolean(),
      'Whether the calling principal has logged in at this address; null unless `oauth2_flow` is `authorization_code`',
    ),
    vault_key: Nullable(Type.String()),
    static_headers: Type.Record(Type.String(), Type.String(), {
      description: 'Names of the static headers; of each value at most the last four characters',
    }),
    allowed_tools: Nullable(Type.Array(Type.String()), 'null: all tools'),
    disallowed_tools: Nullable(Type.Array(Type.String())),
    require_approval: Type.Union([Type.Literal('always'), Type.Literal('never'), Type.Array(Type.String())], {
      description: 'Tools whose calls in sessions wait for a person',
    }),
    locked: Type.Boolean({ description: 'True: set in the configuration file, so the API cannot change it' }),
    status: Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy'), Type.Literal('unknown')], {
      description: 'Result of the last check of this address',
    }),
    last_checked_at: Nullable(Time),
    last_error: Nullable(Type.String()),
    era: Nullable(
      Type.Union([Type.Literal('modern'), Type.Literal('legacy')]),
      '`modern`: 2026-07-28; `legacy`: 2025-11-25 and older; null before the first check',
    ),
    protocol_version: Nullable(Type.String()),
    tools_hash: Nullable(Type.String(), 'SHA-256 of the accepted tool list; null before the first check'),
    pending_tools_hash: Nullable(
      Type.String(),
      'SHA-256 of a changed list that waits for `accept`; null when the list did not change',
    ),
    created_at: Nullable(Time, 'null for servers of the configuration file'),
    updated_at: Nullable(Time),
  }),
)
export type McpServer = Static<typeof McpServer>

/** A tool as its server describes it. */
export const McpTool = named(
  'McpTool',
  Type.Object(
    { name: Type.String(), description: Type.Optional(Type.String()), inputSchema: JsonObject },
    { additionalProperties: true },
  ),
)
export type McpTool = Static<typeof McpTool>

const ListedTool = named(
  'McpListedTool',
  Type.Object(
    {
      ...McpTool.properties,
      mcp_info: Type.Object({ server_id: Type.String(), server_name: Type.String() }),
    },
    { additionalProperties: true },
  ),
)
export type McpListedTool = Static<typeof ListedTool>

const McpTest = named(
  'McpServerTest',
  Type.Object({
    ok: Type.Boolean(),
    latency_ms: Type.Integer(),
    protocol_version: Nullable(Type.String()),
    tools: Type.Array(McpTool, { description: 'Tools that the server offers now, without its disallowed ones' }),
    pending: Type.Array(Type.String(), {
      description: 'Names of new and changed tools that wait for `accept`',
    }),
    error: Type.Optional(Type.String({ description: 'Message without any part of the credential' })),
  }),
)
export type McpServerTest = Static<typeof McpTest>

const McpStoredToolLists = named(
  'McpStoredToolLists',
  Type.Object({
    accepted: Nullable(Type.Array(McpTool), 'null before the first check'),
    pending: Nullable(Type.Array(McpTool), 'Changed list that waits for `accept`; null when the list did not change'),
    pending_tools_hash: Nullable(Type.String(), 'SHA-256 of `pending`, for `accept`'),
  }),
)
export type McpStoredToolLists = Static<typeof McpStoredToolLists>

/** Result of a tool call as the server returned it. */
const ToolResult = named(
  'McpToolResult',
  Type.Object(
    { content: Type.Array(JsonObject), isError: Type.Optional(Type.Boolean()) },
    { additionalProperties: true },
  ),
)
export type McpToolResult = Static<typeof ToolResult>

const ToolCall = named(
  'McpToolCall',
  Type.Object({
    server_id: Type.String({ minLength: 1, maxLength: 200, description: 'Id, name or alias' }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    arguments: Type.Optional(JsonObject),
  }),
)

/** Maximum size of a body in bytes. Gaps: section 1, rule 8. */
export const maxMcpBytes = 4 * 1024 * 1024

/** Common fields of the return from a login. */
const callback = {
  path: '/oauth/mcp/callback',
  access: 'public',
  errorShape: 'nested',
  query: Type.Object({
    state: Type.Optional(Type.String({ maxLength: 200, description: 'State of the login' })),
    code: Type.Optional(Type.String({ maxLength: 4_000, description: 'Authorization code' })),
    iss: Type.Optional(Type.String({ maxLength: 2_000, description: 'Issuer of the authorization server' })),
    error: Type.Optional(Type.String({ maxLength: 200, description: 'Code of a rejected login' })),
    error_description: Type.Optional(Type.String({ maxLength: 2_000, description: 'Text of a rejected login' })),
  }),
  unknownFields: 'passed',
  responses: { 200: Type.String(), 400: Type.String() },
  produces: 'text/html',
} as const

const ServerPath = Type.Object({ server_id: Type.String() })
const read = { access: 'key', errorShape: 'nested' } as const
const write = { access: 'admin', errorShape: 'nested', bodyLimit: 256 * 1024 } as const
const one = '/v1/mcp/server/{server_id}'
export const mcpRoutes = {
  list: route({
    ...read,
    id: 'mcp.list',
    method: 'GET',
    path: '/v1/mcp/server',
    responses: { 200: Type.Array(McpServer) },
    summary: 'List MCP servers',
    description: 'Lists the servers that the key may use: those of the configuration file first, then by name.',
  }),
  create: route({
    ...write,
    id: 'mcp.create',
    method: 'POST',
    path: '/v1/mcp/server',
    body: McpServerCreate,
    responses: { 201: McpServer },
    summary: 'Register an MCP server',
    description:
      'Registers a tool server. The credential is stored encrypted, is sent only to this server and is never returned.',
  }),
  get: route({
    ...read,
    id: 'mcp.get',
    method: 'GET',
    path: one,
    params: ServerPath,
    responses: { 200: McpServer },
    summary: 'Read an MCP server',
    description: 'Returns one server by its id, name or alias.',
  }),
  update: route({
    ...write,
    id: 'mcp.update',
    method: 'PUT',
    path: one,
    params: ServerPath,
    body: McpServerUpdate,
    responses: { 200: McpServer },
    summary: 'Update an MCP server',
    description:
      'Changes a server. Absent fields stay unchanged; null clears. A new `url` removes the stored credential, the static headers and `vault_key` unless the request contains them.',
  }),
  remove: route({
    ...write,
    id: 'mcp.remove',
    method: 'DELETE',
    path: one,
    params: ServerPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete an MCP server',
    description: 'Deletes a server with its credential. Open calls finish.',
  }),
  test: route({
    ...write,
    id: 'mcp.test',
    method: 'POST',
    path: `${one}/test`,
    params: ServerPath,
    responses: { 200: McpTest },
    summary: 'Test an MCP server',
    description:
      'Connects to the server and reads its tool list. The first list is accepted; a later change waits for `accept`.',
  }),
  accept: route({
    ...write,
    id: 'mcp.accept',
    method: 'POST',
    path: `${one}/accept`,
    params: ServerPath,
    body: Type.Object({
      pending_tools_hash: Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'Hash of the list that was reviewed; 409 if another list waits now',
        }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: McpServer },
    summary: 'Accept a changed tool list',
    description: 'Accepts the changed tool list that the last check found. 409 when no change waits.',
  }),
  toolLists: route({
    ...read,
    access: 'admin',
    id: 'mcp.tool_lists',
    method: 'GET',
    path: `${one}/tools`,
    params: ServerPath,
    responses: { 200: McpStoredToolLists },
    summary: 'Read the stored tool lists of an MCP server',
    description:
      'Returns the accepted list and a changed list that waits for `accept`, whatever `allowed_tools` and `disallowed_tools` say. The server is not asked.',
  }),
  authorize: route({
    ...read,
    id: 'mcp.authorize',
    method: 'POST',
    path: `${one}/authorize`,
    params: ServerPath,
    responses: {
      200: Type.Object({
        authorization_url: Type.String({ description: 'Address to open in a browser' }),
        expires_at: Time,
      }),
    },
    summary: 'Begin a login at an MCP server',
    description:
      'Returns the address where a person allows the access of the calling principal to a server with `oauth2_flow` `authorization_code`. It is valid for 10 minutes and one login. 409 for other servers.',
  }),
  logout: route({
    ...read,
    id: 'mcp.logout',
    method: 'DELETE',
    path: `${one}/authorize`,
    params: ServerPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete a login at an MCP server',
    description:
      'Deletes the tokens of the calling principal, and revokes them if the authorization server offers that. 404 without a login.',
  }),
  callback: route({
    ...callback,
    id: 'mcp.callback',
    method: 'GET',
    summary: 'Return from a login at an MCP server',
    description:
      'The authorization server sends the browser here. The page names the principal that gets access and asks whether to continue; until then nothing is stored. Answers 400 with a page for a login that is unknown, used, expired or rejected.',
  }),
  completeLogin: route({
    ...callback,
    id: 'mcp.complete_login',
    method: 'POST',
    body: Type.Object({ result: Verdict }),
    bodyLimit: 1_024,
    consumes: 'application/x-www-form-urlencoded',
    summary: 'Complete a login at an MCP server',
    description:
      'Stores the login of the principal, or drops it; the form of the page sends it. `state` is the only credential and is valid once. Answers 400 with a page for a login that is unknown, used, expired or rejected.',
  }),
  tools: route({
    ...read,
    id: 'mcp.tools',
    method: 'GET',
    path: '/mcp-rest/tools/list',
    query: Type.Object({
      server_id: Type.Optional(
        Type.String({ maxLength: 200, description: 'Id, name or alias; all servers by default' }),
      ),
    }),
    responses: {
      200: Type.Object({
        tools: Type.Array(ListedTool),
        errors: Type.Array(Type.Object({ server_name: Type.String(), message: Type.String() }), {
          description: 'Servers whose tools cannot be listed now',
        }),
      }),
    },
    summary: 'List tools',
    description:
      'Lists the accepted tools of one server or of all servers that the key may use. With `server_id`, a server that does not answer is 502.',
  }),
  call: route({
    ...read,
    id: 'mcp.call',
    method: 'POST',
    path: '/mcp-rest/tools/call',
    body: ToolCall,
    bodyLimit: maxMcpBytes,
    responses: { 200: ToolResult },
    summary: 'Call a tool',
    description:
      'Calls an accepted tool and returns its result. A failure of the tool itself is a result with `isError`; a server that does not answer is 502.',
  }),
}
