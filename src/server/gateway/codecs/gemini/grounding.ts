import { isRecord, type Json, nonEmptyText, recordsOf } from '../../../platform/json.ts'

/**
 * The web pages behind an answer, as text: Anthropic's own blocks for them hold state that only Anthropic can make.
 * Undefined without any page.
 */
export function sourcesOf(grounding: Json): string | undefined {
  const pages = new Map<string, string>()
  for (const { web } of recordsOf(grounding['groundingChunks'])) {
    const url = isRecord(web) ? nonEmptyText(web['uri']) : undefined
    if (url !== undefined && isRecord(web)) pages.set(url, nonEmptyText(web['title']) ?? url)
  }
  if (pages.size === 0) return undefined
  return `Sources:\n${[...pages].map(([url, title]) => `- [${title}](${url})`).join('\n')}`
}
