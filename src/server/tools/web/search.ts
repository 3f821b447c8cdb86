import type { SearchProvider, WebSearchSettings } from '../../config/agent-settings.ts'
import { wholeEchoes } from '../../platform/echoes.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isRecord, jsonOr, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { SendWeb, WebRequest } from './client.ts'

export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

interface Wanted {
  readonly query: string
  readonly count: number
}

type ProviderRequest = Omit<WebRequest, 'maxBytes'>

/** How a provider is asked, and where its answer has the results. */
interface ProviderFormat {
  readonly request: (settings: WebSearchSettings, wanted: Wanted) => ProviderRequest
  readonly results: (answer: unknown) => readonly SearchResult[]
}

const json = { accept: 'application/json' }

const resultsIn = (list: unknown, snippet: string): readonly SearchResult[] =>
  recordsOf(list).map(item => ({
    title: textOf(item['title']),
    url: textOf(item['url']),
    snippet: textOf(item[snippet]),
  }))

const withQuery = (address: string, query: Readonly<Record<string, string>>): string =>
  `${address}?${new URLSearchParams(query)}`

/** Source: the providers' API references. */
const formats: Readonly<Record<SearchProvider, ProviderFormat>> = {
  brave: {
    request: ({ apiBase, apiKey = '' }, { query, count }) => ({
      url: withQuery(`${apiBase}/res/v1/web/search`, { q: query, count: String(count) }),
      headers: { ...json, 'x-subscription-token': apiKey },
    }),
    results: answer => resultsIn(recordOf(recordOf(answer)['web'])['results'], 'description'),
  },
  tavily: {
    request: ({ apiBase, apiKey = '' }, { query, count }) => ({
      method: 'POST',
      url: `${apiBase}/search`,
      headers: { ...json, 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query, max_results: count }),
    }),
    results: answer => resultsIn(recordOf(answer)['results'], 'content'),
  },
  searxng: {
    request: ({ apiBase }, { query }) => ({
      url: withQuery(`${apiBase}/search`, { q: query, format: 'json' }),
      headers: json,
    }),
    results: answer => resultsIn(recordOf(answer)['results'], 'content'),
  },
}

const maxAnswerBytes = 1024 * 1024
const maxTitle = 300
const maxSnippet = 1_000
const maxAddress = 2_000

/** Searches with the configured provider. Errors: `invalid_request` without any text of the provider. */
export async function search(
  send: SendWeb,
  settings: WebSearchSettings,
  { signal, ...wanted }: Wanted & { readonly signal: AbortSignal },
): Promise<readonly SearchResult[]> {
  const format = formats[settings.provider]
  const request = { ...format.request(settings, wanted), maxBytes: maxAnswerBytes }
  const { status, body } = await send(request, signal).catch(error => {
    throw error instanceof AppError ? invalid(`search provider ${settings.provider}: ${error.message}`) : error
  })
  if (status !== 200) throw invalid(`search provider ${settings.provider} ${problemOf(status)}`)
  const answer = jsonOr(body.toString('utf8'), undefined)
  if (!isRecord(answer)) throw invalid(`search provider ${settings.provider} did not return a JSON object`)
  const { without } = wholeEchoes(settings.apiKey === undefined ? [] : [settings.apiKey])
  const line = (text: string, maxLength: number) => without(withoutTags(text).slice(0, maxLength).toWellFormed())
  return format
    .results(answer)
    .filter(({ url }) => url.length <= maxAddress && /^https?:\/\//.test(url))
    .slice(0, wanted.count)
    .map(({ title, url, snippet }) => ({
      title: line(title, maxTitle),
      url: without(url),
      snippet: line(snippet, maxSnippet),
    }))
}

function problemOf(status: number): string {
  if (status === 401 || status === 403) return `rejected the configured key (status ${status})`
  return status === 429 ? 'has reached its rate limit; retry later' : `responded with status ${status}`
}

/** Removes the marks of matches in titles and snippets, and line ends. */
const withoutTags = (text: string): string =>
  text
    .slice(0, 2 * maxSnippet)
    .replaceAll(/<\/?[a-z]{1,10}[^<>]{0,100}>/gi, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
