import type { WebSearchSettings } from '../../config/agent-settings.ts'
import { ByteGate } from '../../platform/byte-gate.ts'
import { invalid } from '../../platform/errors.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { createWebClient } from './client.ts'
import { fetchPage, maxPageBytes, type Page, type Redirect } from './page.ts'
import { type SearchResult, search } from './search.ts'

interface Needs {
  /** Guard of outbound connections in force. */
  readonly guard: () => Outbound
  /** Search provider in force; undefined without one. */
  readonly searchSettings: () => WebSearchSettings | undefined
  /** Time limit of a request in milliseconds; 30,000 by default. */
  readonly totalMs?: number
}

/** The web, for tools. Errors: `invalid_request` with a message for the model. */
export interface Web {
  fetch(url: string, signal: AbortSignal): Promise<Page | Redirect>
  search(wanted: {
    readonly query: string
    readonly count: number
    readonly signal: AbortSignal
  }): Promise<readonly SearchResult[]>
  /** True when a search provider is configured. */
  readonly canSearch: boolean
}

/** The body as sent, decompressed and as text, and its result. */
const bytesOfFetch = 5 * maxPageBytes
const maxFetches = 8

/** Creates the access of all tools of a process to the web. */
export function createWeb({ guard, searchSettings, totalMs }: Needs): Web {
  const send = createWebClient(guard, totalMs)
  const gate = new ByteGate(maxFetches * bytesOfFetch)
  return {
    fetch: (url, signal) => gate.run(bytesOfFetch, signal, () => fetchPage(send, url, signal)),
    async search(wanted) {
      const settings = searchSettings()
      if (!settings) throw invalid('no search provider is configured')
      return search(send, settings, wanted)
    },
    get canSearch() {
      return searchSettings() !== undefined
    },
  }
}
