import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { FileChange } from '../../../../../../src/contract/files.ts'
import { client } from '../../../../data/client.ts'
import { live } from '../../../../data/live.ts'
import { present } from '../../../../data/present.ts'
import { routes } from '../../../../data/routes.ts'
import { type FileContent, fileContentOf } from '../../../../parts/file-kind.ts'

const pageSize = 200

/** Files of a session as of an event; undefined: as of its last step. */
export interface Moment {
  readonly sessionId: string
  readonly at: string | undefined
}

/** One folder; the workspace itself has the path ''. */
export const folderQuery = ({ sessionId, at }: Moment, path: string) =>
  infiniteQueryOptions({
    queryKey: ['session-files', sessionId, 'folder', at, path],
    queryFn: ({ pageParam: cursor }) =>
      client.files.list({
        params: { session_id: sessionId },
        query: present({ limit: pageSize, cursor, at, path: path === '' ? undefined : path }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    meta: live,
  })

/** The files that runs have written, in all folders. */
export const artifactsQuery = ({ sessionId, at }: Moment) =>
  infiniteQueryOptions({
    queryKey: ['session-files', sessionId, 'artifacts', at],
    queryFn: ({ pageParam: cursor }) =>
      client.files.artifacts({
        params: { session_id: sessionId },
        query: present({ limit: pageSize, cursor, at }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    meta: live,
  })

/** The content of a file for display. */
export const contentQuery = ({ sessionId, at }: Moment, path: string) =>
  queryOptions({
    queryKey: ['session-files', sessionId, 'content', at, path],
    queryFn: async ({ signal }): Promise<FileContent> => {
      const response = await openFile({ sessionId, at }, path, signal)
      return fileContentOf(await response.arrayBuffer())
    },
    meta: live,
  })

/** Returns the response with the bytes of a file. */
export const openFile = ({ sessionId, at }: Moment, path: string, signal?: AbortSignal): Promise<Response> =>
  client.open(
    routes.file,
    { params: { session_id: sessionId, path }, query: present({ at }) },
    signal ? { signal } : {},
  )

/** Returns the response with all files in one archive. */
export const openArchive = ({ sessionId, at }: Moment): Promise<Response> =>
  client.open(routes.fileArchive, { params: { session_id: sessionId }, query: present({ at }) })

/** The stored states of the files, newest first. */
export const checkpointsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session-files', sessionId, 'checkpoints'],
    queryFn: () => client.files.checkpoints({ params: { session_id: sessionId }, query: { limit: 200 } }),
    meta: live,
  })

export interface Changes {
  readonly data: readonly FileChange[]
  readonly more: number
}

/** What changed between two events; undefined: the start of the session, and its last event. */
export const changesQuery = (sessionId: string, from: string | undefined, to: string | undefined) =>
  queryOptions({
    queryKey: ['session-files', sessionId, 'changes', from, to],
    queryFn: (): Promise<Changes> =>
      client.files.diff({ params: { session_id: sessionId }, query: present({ from, to }) }),
    meta: live,
  })
