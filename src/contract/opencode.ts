import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { JsonObject } from './schemas.ts'
import { OpencodeMessage } from './sessions.ts'

/** Folder and project of every session in responses to opencode's clients. */
export const opencodePlace = { projectID: 'global', directory: '/workspace' } as const

/** The one provider that opencode's clients see, with all models of the gateway. */
export const opencodeProvider = 'switchyard'

/** Answer to a tool call that requires approval. `always` counts as `once`: the next call requires approval again. */
const Reply = named('OpencodeReply', Type.Union([Type.Literal('once'), Type.Literal('always'), Type.Literal('reject')]))

/** Tool call that requires approval, in opencode's format. Dialects: section 2.3. */
export const OpencodePermission = named(
  'OpencodePermission',
  Type.Object({
    id: Type.String({ description: 'Id of the approval' }),
    sessionID: Type.String(),
    permission: Type.String({ description: 'Name of the tool' }),
    patterns: Type.Array(Type.String()),
    metadata: JsonObject,
    always: Type.Array(Type.String()),
    tool: Type.Optional(Type.Object({ messageID: Type.String(), callID: Type.String() })),
  }),
)
export type OpencodePermission = Static<typeof OpencodePermission>

export const OpencodeStatus = named(
  'OpencodeStatus',
  Type.Object({ type: Type.Union([Type.Literal('idle'), Type.Literal('busy')]) }),
)

const SessionPath = Type.Object({ session_id: Type.String() })
const common = { access: 'key', errorShape: 'nested' } as const
const Nothing = Type.Array(JsonObject, { maxItems: 0 })

const FilePath = Type.String({ maxLength: 4_096, description: 'Path relative to the workspace of the session' })
const FileNode = named(
  'OpencodeFileNode',
  Type.Object({
    name: Type.String(),
    path: Type.String(),
    absolute: Type.String(),
    type: Type.Union([Type.Literal('file'), Type.Literal('directory')]),
    ignored: Type.Boolean(),
  }),
)

/** Line of a file that contains the text. Offsets are bytes. */
const TextMatch = named(
  'OpencodeTextMatch',
  Type.Object({
    path: Type.Object({ text: Type.String() }),
    lines: Type.Object({ text: Type.String() }),
    line_number: Type.Integer(),
    absolute_offset: Type.Integer(),
    submatches: Type.Array(
      Type.Object({ match: Type.Object({ text: Type.String() }), start: Type.Integer(), end: Type.Integer() }),
    ),
  }),
)
export type TextMatch = Static<typeof TextMatch>

/** GET route of the files of one session. */
const ofFiles = <
  const Id extends string,
  const Path extends `/${string}`,
  S extends TSchema,
  Q extends TProperties,
>(spec: {
  id: Id
  path: Path
  query: Q
  answer: S
  summary: string
  description: string
}) => {
  const { id, path, query, answer, summary, description } = spec
  const place = {
    workspace: Type.Optional(
      Type.String({ maxLength: 200, description: 'Session whose files are read; without it the result is empty' }),
    ),
    directory: Type.Optional(Type.String({ maxLength: 4_096 })),
  }
  return route({
    ...common,
    id: `opencode.${id}` as const,
    method: 'GET',
    path,
    query: Type.Object({ ...place, ...query }),
    responses: { 200: answer },
    summary,
    description,
  })
}

/** GET route without parameters. */
const read = <const Id extends string, const Path extends `/${string}`, S extends TSchema>(spec: {
  id: Id
  path: Path
  answer: S
  summary: string
  description: string
}) => {
  const { id, path, answer, summary, description } = spec
  return route({
    ...common,
    id: `opencode.${id}` as const,
    method: 'GET',
    path,
    responses: { 200: answer },
    summary,
    description,
  })
}

export const opencodeRoutes = {
  events: route({
    ...common,
    id: 'opencode.events',
    method: 'GET',
    path: '/event',
    responses: { 200: Type.String({ description: 'Server-sent events with `data` lines only, without replay' }) },
    produces: 'text/event-stream',
    summary: 'Follow the events of all sessions',
    description: 'Streams the events of all sessions that the key may see, in opencode’s event types.',
  }),
  globalEvents: route({
    ...common,
    id: 'opencode.global_events',
    method: 'GET',
    path: '/global/event',
    responses: { 200: Type.String({ description: 'As /event, each event in an envelope with its folder' }) },
    produces: 'text/event-stream',
    summary: 'Follow all events in an envelope',
    description: 'Like `/event`, each event in an envelope with its directory.',
  }),
  health: read({
    id: 'health',
    path: '/global/health',
    answer: Type.Object({ healthy: Type.Literal(true), version: Type.String() }),
    summary: 'Check health',
    description: 'Returns `healthy` and the version.',
  }),
  statuses: read({
    id: 'statuses',
    path: '/session/status',
    answer: Type.Record(Type.String(), OpencodeStatus),
    summary: 'List session states',
    description: 'Returns the sessions that run or retry, by id. A session that is absent is idle.',
  }),
  permissions: read({
    id: 'permissions',
    path: '/permission',
    answer: Type.Array(OpencodePermission),
    summary: 'List pending permissions',
    description: 'Lists the tool calls that wait for a person.',
  }),
  reply: route({
    ...common,
    id: 'opencode.reply',
    unknownFields: 'reported',
    method: 'POST',
    path: '/permission/{request_id}/reply',
    params: Type.Object({ request_id: Type.String() }),
    body: Type.Object({ reply: Reply, message: Type.Optional(Type.String({ maxLength: 10_000 })) }),
    responses: { 200: Type.Boolean() },
    summary: 'Answer a permission request',
    description: 'Allows or denies a tool call.',
  }),
  answer: route({
    ...common,
    id: 'opencode.answer',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/permissions/{permission_id}',
    params: Type.Object({ session_id: Type.String(), permission_id: Type.String() }),
    body: Type.Object({ response: Reply }),
    responses: { 200: Type.Boolean() },
    summary: 'Answer a permission request (older clients)',
    description: 'Allows or denies a tool call of a session, on the path of older clients.',
  }),
  message: route({
    ...common,
    id: 'opencode.message',
    method: 'GET',
    path: '/session/{session_id}/message/{message_id}',
    params: Type.Object({ session_id: Type.String(), message_id: Type.String() }),
    responses: { 200: OpencodeMessage },
    summary: 'Read a message',
    description: 'Returns one message of a session with its parts.',
  }),
  summarize: route({
    ...common,
    id: 'opencode.summarize',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/summarize',
    params: SessionPath,
    body: Type.Object({
      providerID: Type.Optional(Type.String({ maxLength: 200 })),
      modelID: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'The agent’s by default' }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: Type.Boolean() },
    summary: 'Compact the conversation and wait',
    description:
      'Compacts the conversation of an idle session and answers when it is done. Answers 409 while a prompt runs.',
  }),
  children: route({
    ...common,
    id: 'opencode.children',
    method: 'GET',
    path: '/session/{session_id}/children',
    params: SessionPath,
    responses: { 200: Nothing },
    summary: 'List child sessions',
    description: 'Returns an empty list: sessions have no children in this version.',
  }),
  todo: route({
    ...common,
    id: 'opencode.todo',
    method: 'GET',
    path: '/session/{session_id}/todo',
    params: SessionPath,
    responses: { 200: Nothing },
    summary: 'List the tasks of a session',
    description: 'Returns an empty list: sessions have no task list in this version.',
  }),
  diff: route({
    ...common,
    id: 'opencode.diff',
    method: 'GET',
    path: '/session/{session_id}/diff',
    params: SessionPath,
    responses: { 200: Nothing },
    summary: 'List changed files',
    description: 'Returns an empty list: use `GET /api/sessions/{session_id}/diff`.',
  }),
  config: read({
    id: 'config',
    path: '/config',
    answer: JsonObject,
    summary: 'Read the settings of a client',
    description: 'Returns the settings that opencode’s clients need, such as the default model.',
  }),
  globalConfig: read({
    id: 'global_config',
    path: '/global/config',
    answer: JsonObject,
    summary: 'Read the global settings of a client',
    description: 'The same as `/config`.',
  }),
  configProviders: read({
    id: 'config_providers',
    path: '/config/providers',
    answer: Type.Object({ providers: Type.Array(JsonObject), default: JsonObject }),
    summary: 'List models as providers',
    description: 'Returns the models of the gateway as those of one provider.',
  }),
  providers: read({
    id: 'providers',
    path: '/provider',
    answer: Type.Object({ all: Type.Array(JsonObject), default: JsonObject, connected: Type.Array(Type.String()) }),
    summary: 'List models as providers (newer clients)',
    description: 'The same as `/config/providers` in the shape of newer clients.',
  }),
  agents: read({
    id: 'agents',
    path: '/agent',
    answer: Type.Array(JsonObject),
    summary: 'List what a session can run',
    description: 'Lists the connected runtimes, then the agents by their id.',
  }),
  path: read({
    id: 'path',
    path: '/path',
    answer: JsonObject,
    summary: 'Read the folders of a session',
    description: 'Returns the folders as a session sees them.',
  }),
  log: route({
    ...common,
    id: 'opencode.log',
    unknownFields: 'reported',
    method: 'POST',
    path: '/log',
    body: Type.Object({
      service: Type.String({ maxLength: 200 }),
      level: Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')]),
      message: Type.String({ maxLength: 10_000 }),
      extra: Type.Optional(JsonObject),
    }),
    responses: { 200: Type.Boolean() },
    summary: 'Send a log line',
    description: 'Accepts a line of a client’s log and discards it.',
  }),
  commands: read({
    id: 'commands',
    path: '/command',
    answer: Nothing,
    summary: 'List commands',
    description: 'Returns an empty list: there are no commands in this version.',
  }),
  files: ofFiles({
    id: 'files',
    path: '/file',
    query: { path: Type.Optional(FilePath) },
    answer: Type.Array(FileNode),
    summary: 'List a folder',
    description: 'Lists a folder of a session’s files.',
  }),
  fileContent: ofFiles({
    id: 'file_content',
    path: '/file/content',
    query: { path: Type.Optional(FilePath) },
    answer: Type.Object({
      type: Type.Union([Type.Literal('text'), Type.Literal('binary')]),
      content: Type.String(),
      encoding: Type.Optional(Type.Literal('base64')),
    }),
    summary: 'Read a file',
    description: 'Returns the content of a file of a session.',
  }),
  fileStatus: ofFiles({
    id: 'file_status',
    path: '/file/status',
    query: {},
    answer: Type.Array(
      Type.Object({
        path: Type.String(),
        added: Type.Integer({ description: 'Lines' }),
        removed: Type.Integer({ description: 'Lines' }),
        status: Type.Union([Type.Literal('added'), Type.Literal('deleted'), Type.Literal('modified')]),
      }),
    ),
    summary: 'List changed files of a session',
    description: 'Lists the files that changed since the session began.',
  }),
  findText: ofFiles({
    id: 'find_text',
    path: '/find',
    query: {
      pattern: Type.Optional(Type.String({ maxLength: 1_000, description: 'Text to find, not a regular expression' })),
    },
    answer: Type.Array(TextMatch),
    summary: 'Search text in files',
    description: 'Returns the first 100 lines of a session’s files that contain a text.',
  }),
  findFiles: ofFiles({
    id: 'find_files',
    path: '/find/file',
    query: {
      query: Type.Optional(Type.String({ maxLength: 1_000, description: 'Words that the path contains' })),
      type: Type.Optional(Type.Union([Type.Literal('file'), Type.Literal('directory')])),
      dirs: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 100 })),
    },
    answer: Type.Array(Type.String()),
    summary: 'Find files by name',
    description: 'Returns paths of a session’s files that contain the words.',
  }),
  findSymbols: read({
    id: 'find_symbols',
    path: '/find/symbol',
    answer: Nothing,
    summary: 'Find symbols',
    description: 'Returns an empty list: symbols are not indexed.',
  }),
  vcs: read({
    id: 'vcs',
    path: '/vcs',
    answer: JsonObject,
    summary: 'Read the branch',
    description: 'Returns no branch: workspaces are not repositories of the client.',
  }),
  mcp: read({
    id: 'mcp',
    path: '/mcp',
    answer: JsonObject,
    summary: 'List MCP servers of the client',
    description: 'Returns no servers.',
  }),
  projects: read({
    id: 'projects',
    path: '/project',
    answer: Type.Array(JsonObject),
    summary: 'List projects',
    description: 'Returns the only project.',
  }),
  project: read({
    id: 'project',
    path: '/project/current',
    answer: JsonObject,
    summary: 'Read the current project',
    description: 'Returns the only project.',
  }),
}
