import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { named } from './named.ts'
import { Empty, opencodeRoute, read } from './opencode-route.ts'
import { route } from './route.ts'

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
    ...opencodeRoute,
    id: `opencode.${id}` as const,
    method: 'GET',
    path,
    query: Type.Object({ ...place, ...query }),
    responses: { 200: answer },
    summary,
    description,
  })
}

/** Files of a session, and searches in them. */
export const opencodeFileRoutes = {
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
    answer: Empty,
    summary: 'Find symbols',
    description: 'Returns an empty list: symbols are not indexed.',
  }),
}
