import { isRecord, type JsonRecord, recordsOf, textOf } from './json-values.ts'

/**
 * The web pages behind an answer, as text: Anthropic's own blocks for them hold state that only Anthropic can make.
 * Undefined without any page.
 */
export function sourcesOf(grounding: JsonRecord): string | undefined {
  const pages = new Map<string, string>()
  for (const { web } of recordsOf(grounding['groundingChunks'])) {
    const url = isRecord(web) ? textOf(web['uri']) : undefined
    if (url !== undefined && isRecord(web)) pages.set(url, textOf(web['title']) ?? url)
  }
  if (pages.size === 0) return undefined
  return `Sources:\n${[...pages].map(([url, title]) => `- [${title}](${url})`).join('\n')}`
}
