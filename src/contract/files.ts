import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, NextCursor, Nullable, pageQuery } from './schemas.ts'

/** File, folder or link in a session's workspace. */
export const WorkspaceFile = named(
  'WorkspaceFile',
  Type.Object({
    path: Type.String({ description: 'Path relative to the workspace, such as src/main.ts' }),
    type: Type.Union([Type.Literal('file'), Type.Literal('folder'), Type.Literal('link')]),
    size: Nullable(Type.Integer({ description: 'Bytes of a file' })),
    mode: Nullable(Type.Integer({ description: 'Permission bits of a file or folder, such as 420 for rw-r--r--' })),
    sha256: Nullable(Type.String({ description: 'Hash of a file’s content, in hexadecimal digits' })),
    modified_at: Nullable(DateTime),
    target: Nullable(Type.String({ description: 'Target of a link' })),
  }),
)
export type WorkspaceFile = Static<typeof WorkspaceFile>

/** Event whose files are shown; null when no files were stored by then. */
export const FilesAsOf = Nullable(
  Type.Object({
    checkpoint_id: Type.String(),
    seq: Type.Integer({ description: 'Event of the log that the files belong to' }),
    created_at: DateTime,
  }),
)
export type FilesAsOf = Static<typeof FilesAsOf>

/** A stored state of a session's files. */
export const ListedCheckpoint = named(
  'Checkpoint',
  Type.Object({
    checkpoint_id: Type.String(),
    seq: Type.Integer({ description: 'Event of the log that the files belong to' }),
    event_id: Nullable(Type.String(), 'Id of that event, for `at`, `from` and `to`'),
    event_type: Nullable(Type.String()),
    created_at: DateTime,
    files: Type.Integer({ description: 'Files and links in the workspace' }),
    bytes: Type.Integer(),
    changed: Nullable(
      Type.Integer(),
      'Files and links that differ from the checkpoint before; null for one of an older release',
    ),
  }),
)
export type ListedCheckpoint = Static<typeof ListedCheckpoint>

/** Change of one path. `patch` is a unified diff of a text file. */
export const FileChange = named(
  'FileChange',
  Type.Object({
    path: Type.String(),
    change: Type.Union([Type.Literal('added'), Type.Literal('modified'), Type.Literal('deleted')]),
    before: Nullable(WorkspaceFile),
    after: Nullable(WorkspaceFile),
    patch: Nullable(Type.String()),
    patch_omitted: Nullable(
      Type.Union([Type.Literal('binary'), Type.Literal('too_large'), Type.Literal('not_a_file')], {
        description: 'Reason why there is no patch',
      }),
    ),
  }),
)
export type FileChange = Static<typeof FileChange>

const SessionPath = Type.Object({ session_id: Type.String() })
const FilePath = Type.Object({
  session_id: Type.String(),
  path: Type.String({ description: 'Path relative to the workspace; slashes may be percent-encoded' }),
})
const moment = (what: string) =>
  Type.Optional(Type.String({ maxLength: 200, description: `${what}: id of an event, or start` }))
const at = moment('The files as of the last step at or before')
const nested = { access: 'key', errorShape: 'nested' } as const
const file = { ...nested, path: '/api/sessions/{session_id}/files/{path}', params: FilePath } as const

/** The files of a session, as of its last step or of an earlier one. */
export const fileRoutes = {
  list: route({
    ...nested,
    id: 'files.list',
    method: 'GET',
    path: '/api/sessions/{session_id}/files',
    params: SessionPath,
    query: Type.Object({
      ...pageQuery,
      path: Type.Optional(Type.String({ maxLength: 4096, description: 'Folder; the workspace itself by default' })),
      at,
    }),
    responses: {
      200: Type.Object({ data: Type.Array(WorkspaceFile), as_of: FilesAsOf, next_cursor: NextCursor }),
    },
    summary: 'List files',
    description: 'Lists a folder of a session’s workspace.',
  }),
  artifacts: route({
    ...nested,
    id: 'files.artifacts',
    method: 'GET',
    path: '/api/sessions/{session_id}/artifacts',
    params: SessionPath,
    query: Type.Object({ ...pageQuery, at }),
    responses: {
      200: Type.Object({ data: Type.Array(WorkspaceFile), as_of: FilesAsOf, next_cursor: NextCursor }),
    },
    summary: 'List artifacts',
    description:
      'Lists the files that runs of the session have written, in all folders. Files of prompts, of callers and of the session that it was forked from count once a run has changed them.',
  }),
  read: route({
    ...file,
    id: 'files.read',
    method: 'GET',
    query: Type.Object({ at }),
    responses: { 200: Type.Unknown({ description: 'The bytes of the file' }) },
    produces: 'application/octet-stream',
    summary: 'Read a file',
    description: 'Returns the bytes of a file of a session’s workspace.',
  }),
  write: route({
    ...file,
    id: 'files.write',
    method: 'PUT',
    bodyLimit: 1024 * 1024 * 1024,
    consumes: 'application/octet-stream',
    responses: { 200: WorkspaceFile },
    summary: 'Write a file',
    description: 'Writes a file and creates its folders. Answers 409 while a run is in progress.',
  }),
  remove: route({
    ...file,
    id: 'files.remove',
    method: 'DELETE',
    responses: { 204: null },
    summary: 'Delete a file',
    description: 'Deletes a file, a link, or a folder with its contents. Answers 409 while a run is in progress.',
  }),
  archive: route({
    ...nested,
    id: 'files.archive',
    method: 'GET',
    path: '/api/sessions/{session_id}/archive',
    params: SessionPath,
    query: Type.Object({ at }),
    responses: { 200: Type.Unknown({ description: 'A tar file, compressed with gzip' }) },
    produces: 'application/gzip',
    summary: 'Download all files',
    description: 'Returns the workspace as a gzip-compressed tar archive.',
  }),
  checkpoints: route({
    ...nested,
    id: 'files.checkpoints',
    method: 'GET',
    path: '/api/sessions/{session_id}/checkpoints',
    params: SessionPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(ListedCheckpoint), next_cursor: NextCursor }) },
    summary: 'List checkpoints',
    description:
      'Lists the stored states of a session’s files, newest first. A step that changes files stores one. Compare two of them by their `event_id`.',
  }),
  diff: route({
    ...nested,
    id: 'files.diff',
    method: 'GET',
    path: '/api/sessions/{session_id}/diff',
    params: SessionPath,
    query: Type.Object({
      from: moment('Start of the comparison; the start of the session by default'),
      to: moment('End of the comparison; the last event by default'),
    }),
    responses: {
      200: Type.Object({
        from: FilesAsOf,
        to: FilesAsOf,
        data: Type.Array(FileChange),
        more: Type.Integer({ description: 'Number of changed paths beyond the first 1,000' }),
      }),
    },
    summary: 'Compare files between two events',
    description: 'Lists the files that changed between two events of the session, with a line diff of text files.',
  }),
} as const
