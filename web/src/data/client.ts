import { type Client, createClient } from '../../../src/client/index.ts'
import { consoleHeader } from '../../../src/contract/console.ts'

/** Key of this tab where the page cannot have a cookie (neither https nor loopback). Never stored. */
let memoryKey: string | undefined

/** Sets or forgets the key of this tab. */
export function rememberKey(key: string | undefined): void {
  memoryKey = key
}

/** Calls the API as the person who has signed in, by the cookie or the key of this tab. */
export function consoleFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set(consoleHeader, '1')
  if (memoryKey !== undefined) headers.set('authorization', `Bearer ${memoryKey}`)
  return fetch(input, { ...init, headers })
}

/** The API of the service that served this page. */
export const client: Client = createClient({ baseUrl: '', fetch: consoleFetch })
