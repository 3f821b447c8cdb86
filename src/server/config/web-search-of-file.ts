import { closestTo } from '../platform/closest.ts'
import { withoutTrailing } from '../platform/trailing.ts'
import type { SearchProvider, WebSearchSettings } from './agent-settings.ts'
import type { ConfigFile, Place } from './file.ts'

/** The address of each provider by default, and whether it needs a key. */
const searchProviders: Readonly<Record<SearchProvider, { readonly apiBase?: string; readonly needsKey: boolean }>> = {
  brave: { apiBase: 'https://api.search.brave.com', needsKey: true },
  tavily: { apiBase: 'https://api.tavily.com', needsKey: true },
  searxng: { needsKey: false },
}

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

const names = Object.keys(searchProviders) as SearchProvider[]

/** Returns the settings of the block `web_search`; undefined without one, or when they are invalid. */
export function webSearchOfFile({ file, report }: Reading): WebSearchSettings | undefined {
  const block = file.value.web_search
  if (!block) return undefined
  const reportAt = (text: string, ...field: string[]) =>
    report(`web_search${text}`, file.place(['web_search', ...field]))
  if (block.provider === undefined) {
    reportAt('.provider is required')
    return undefined
  }
  const provider = names.find(name => name === block.provider)
  if (!provider) {
    const near = closestTo(block.provider, names)
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    reportAt(`.provider must be one of ${names.join(', ')}${hint}`, 'provider')
    return undefined
  }
  const { needsKey, apiBase: ownBase } = searchProviders[provider]
  const { api_key: apiKey, api_base: given = ownBase } = block
  if (needsKey && (apiKey ?? '').trim() === '') reportAt(`.api_key is required for ${provider}`)
  if (!needsKey && apiKey !== undefined) reportAt(`.api_key is not used by ${provider}; remove it`, 'api_key')
  if (given === undefined) reportAt(`.api_base is required for ${provider}`)
  else if (!isAddress(given)) reportAt('.api_base must be an https:// or http:// address without a query', 'api_base')
  return { provider, apiKey, apiBase: withoutTrailing(given ?? '', '/') }
}

function isAddress(text: string): boolean {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === ''
}
