import { recordsOf, textOf } from '../../../platform/json.ts'

/** What the annotations of a text say that the text itself does not. */
interface CitedSources {
  /** To be put behind the text; empty when the text names all of its sources. */
  readonly list: string
  /** True when something was left out. */
  readonly hasMore: boolean
}

/** The cited pages whose address is not in `text`. Behind JSON nothing can be put: it would no longer be JSON. */
export function citedSources(annotations: unknown, text: string): CitedSources {
  const cited = recordsOf(annotations)
  if (cited.length === 0) return { list: '', hasMore: false }
  const pages = new Map<string, string>()
  for (const { type, url, title } of cited) {
    const address = textOf(url)
    if (type === 'url_citation' && address !== '' && !text.includes(address)) pages.set(address, textOf(title))
  }
  const hasOthers = cited.some(({ type }) => type !== 'url_citation')
  if (pages.size === 0) return { list: '', hasMore: hasOthers }
  if (/^\s*[{[]/.test(text)) return { list: '', hasMore: true }
  const lines = [...pages].map(([url, title]) => (title ? `- ${title}: ${url}` : `- ${url}`))
  return { list: `\n\nSources:\n${lines.join('\n')}`, hasMore: hasOthers }
}
