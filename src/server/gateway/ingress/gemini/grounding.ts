import { type Json, recordOf, recordsOf, textIn } from '../../../platform/json.ts'

/** Collects what a search of the provider's has brought. */
export interface Grounding {
  /** Takes a block that goes on only as a whole; those of no search are left alone. */
  take(block: Json): void
  /** `groundingMetadata` as Gemini states it; undefined without a search. */
  readonly metadata: Json | undefined
}

export function createGrounding(): Grounding {
  const queries: string[] = []
  const chunks: Json[] = []
  return {
    take({ type, name, input, content }) {
      const query = textIn(recordOf(input)['query'])
      if (type === 'server_tool_use' && name === 'web_search' && query !== undefined) queries.push(query)
      if (type !== 'web_search_tool_result') return
      for (const { url: uri, title } of recordsOf(content))
        if (typeof uri === 'string') chunks.push({ web: { uri, title } })
    },
    get metadata() {
      if (queries.length === 0 && chunks.length === 0) return undefined
      return { webSearchQueries: queries, ...(chunks.length > 0 && { groundingChunks: chunks }) }
    },
  }
}
