import { queryOptions } from '@tanstack/react-query'
import type { SessionEvent } from '../../../../src/client/index.ts'
import type { WorkspaceFile } from '../../../../src/contract/files.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { append, createView } from '../../session-log/session-view.ts'
import type { View } from '../../session-log/view.ts'
import { type PromptCosts, promptCosts } from './sessions/prompt-costs.ts'

export const summaryQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['compare', 'summary', sessionId],
    queryFn: () => client.sessions.summary({ params: { session_id: sessionId } }),
    meta: live,
  })

/** Sessions whose titles contain a text, newest first. */
export const sessionChoicesQuery = (q: string) =>
  queryOptions({
    queryKey: ['compare', 'choices', q],
    queryFn: () =>
      client.sessions.summaries({ query: present({ limit: 30, q: q.trim() === '' ? undefined : q.trim() }) }),
    staleTime: 10_000,
  })

const pageLimit = 1000
/** Longer logs are compared by their first events. */
export const maxEvents = 20_000

/** The log of a session. A refresh loads only what was added. */
export const logQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['compare', 'log', sessionId],
    queryFn: async ({ client: queries, queryKey, signal }): Promise<View> => {
      let view = queries.getQueryData<View>(queryKey) ?? createView()
      while (view.log.count < maxEvents) {
        const page = await loadAfter(sessionId, view.log.lastSeq, signal)
        view = append(view, page)
        if (page.length < pageLimit) break
      }
      return view
    },
    // Its parts stay the same objects by themselves.
    structuralSharing: false,
    meta: live,
  })

async function loadAfter(sessionId: string, seq: number, signal: AbortSignal): Promise<readonly SessionEvent[]> {
  const query = { after: String(seq), limit: pageLimit, order: 'asc' } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query }, { signal })
  return data
}

const callPages = 25

/** Cost of each prompt of a session, by its newest 5,000 model calls. */
export const costsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['compare', 'costs', sessionId],
    queryFn: async (): Promise<PromptCosts> => {
      const calls: Parameters<typeof promptCosts>[0][number][] = []
      let cursor: string | undefined
      for (let page = 0; page < callPages; page++) {
        const answer = await client.usage.calls({ query: present({ session_id: sessionId, limit: 200, cursor }) })
        calls.push(...answer.calls)
        cursor = answer.next_cursor ?? undefined
        if (cursor === undefined) break
      }
      return promptCosts(calls)
    },
    structuralSharing: false,
    meta: live,
  })

/** At most this many files of a session are compared. */
export const maxFiles = 2000

export interface AllFiles {
  readonly files: readonly WorkspaceFile[]
  /** There are more than `maxFiles`. */
  readonly isCut: boolean
}

/** The files of a session as of its last step, in all folders. A change of its status loads them again. */
export const filesQuery = (sessionId: string, status: string) =>
  queryOptions({
    queryKey: ['compare', 'files', sessionId, status],
    queryFn: async (): Promise<AllFiles> => {
      const files: WorkspaceFile[] = []
      const folders = ['']
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        const entries = await loadFolder(sessionId, folder)
        folders.push(...entries.filter(({ type }) => type === 'folder').map(({ path }) => path))
        files.push(...entries.filter(({ type }) => type !== 'folder'))
        if (files.length > maxFiles) return { files: files.slice(0, maxFiles), isCut: true }
      }
      return { files, isCut: false }
    },
    staleTime: 30_000,
  })

async function loadFolder(sessionId: string, folder: string): Promise<WorkspaceFile[]> {
  const entries: WorkspaceFile[] = []
  let cursor: string | undefined
  do {
    const page = await client.files.list({
      params: { session_id: sessionId },
      query: present({ limit: 200, cursor, path: folder === '' ? undefined : folder }),
    })
    entries.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && entries.length <= maxFiles)
  return entries
}

export const versionsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['compare', 'versions', agentId],
    queryFn: () => client.agents.versions({ params: { agent_id: agentId }, query: { limit: 200 } }),
    staleTime: 30_000,
  })

export const agentsQuery = queryOptions({
  queryKey: ['compare', 'agents'],
  queryFn: async () => (await client.agents.list({ query: { limit: 200 } })).agents,
  staleTime: 30_000,
})

export const agentDiffQuery = (agentId: string, from: number, to: number) =>
  queryOptions({
    queryKey: ['compare', 'agent-diff', agentId, from, to],
    queryFn: () => client.agents.diff({ params: { agent_id: agentId, version: from }, query: { to } }),
    staleTime: 60_000,
  })

/** What a version of an agent took in the last 30 days. */
export const versionUsageQuery = (agentId: string, version: number) =>
  queryOptions({
    queryKey: ['compare', 'version-usage', agentId, version],
    queryFn: async () =>
      (await client.usage.report({ query: { agent_id: agentId, agent_version: version, limit: 1 } })).totals,
    meta: live,
  })
