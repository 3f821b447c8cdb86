import { isRecord, type Json, recordOf } from '../platform/json.ts'
import { inTurns } from '../platform/turns.ts'

/** From this number of MCP tools on, clients and models get a search instead of all tools. */
export const minToolsForSearch = 60

/** Name of the search; names of MCP tools contain `__`. */
export const searchName = 'search_tools'

/** A tool that can be found. */
interface Searchable {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: Json
}

const defaultLimit = 10
const maxLimit = 50
const maxQuery = 500
const maxTerms = 20
/** Characters of a description that count: of each, and of all together. */
const maxText = 2_000
const maxTexts = 1_000_000

/** Input schema of the search. */
export const searchInput = {
  type: 'object' as const,
  properties: {
    query: {
      type: 'string',
      description: 'Words of the name, the description or the parameters',
      maxLength: maxQuery,
    },
    limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit },
  },
  required: ['query'],
}

export interface SearchRequest {
  readonly query: string
  readonly limit: number
}

/** Returns the arguments of a search, or the problem with them. */
export function searchRequestOf(given: unknown): SearchRequest | string {
  const { query, limit = defaultLimit } = recordOf(given)
  if (typeof query !== 'string' || query.trim() === '' || query.length > maxQuery)
    return `arguments.query must be a text of 1 to ${maxQuery} characters`
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    return `arguments.limit must be a whole number from 1 to ${maxLimit}`
  return { query, limit }
}

/** Weights of BM25: how much repetition counts, and how much the length of a text does. */
const [repetition, length] = [1.2, 0.75]
const nameWeight = 3

/** Tools that are read in one turn. */
const toolsPerTurn = 16

/**
 * Returns the tools that match the words of the query, best first: BM25 over names, descriptions and parameters, where a
 * word of the name counts three times. Tools with the same score are in the order of their names. Rejects with the reason of the
 * signal.
 */
export const foundTools = <Tool extends Searchable>(
  tools: readonly Tool[],
  request: SearchRequest,
  signal: AbortSignal,
): Promise<readonly Tool[]> => inTurns(search(tools, request), signal)

function* search<Tool extends Searchable>(
  tools: readonly Tool[],
  { query, limit }: SearchRequest,
): Generator<undefined, readonly Tool[]> {
  const terms = [...new Set(wordsOf(query))].slice(0, maxTerms)
  const textLength = Math.min(maxText, Math.floor(maxTexts / Math.max(1, tools.length)))
  const indexed: { readonly tool: Tool; readonly hits: readonly number[]; readonly size: number }[] = []
  for (const tool of tools) {
    const { counts, size } = countsOf(tool, textLength)
    if (indexed.push({ tool, size, hits: terms.map(term => countOf(counts, term)) }) % toolsPerTurn === 0) yield
  }
  const meanSize = indexed.reduce((sum, { size }) => sum + size, 0) / Math.max(1, indexed.length)
  const rarity = terms.map((_term, at) => {
    const having = indexed.filter(({ hits }) => (hits[at] ?? 0) > 0).length
    return Math.log(1 + (indexed.length - having + 0.5) / (having + 0.5))
  })
  return indexed
    .map(({ tool, hits, size }) => {
      const damping = repetition * (1 - length + (length * size) / meanSize)
      const score = hits.reduce(
        (sum, count, at) => sum + ((rarity[at] ?? 0) * count * (repetition + 1)) / (count + damping),
        0,
      )
      return { tool, score }
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.tool.name < other.tool.name ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool)
}

type Counts = ReadonlyMap<string, number>

/** A word of the query also matches longer words that begin with it, at half of the weight. */
function countOf(counts: Counts, term: string): number {
  const exact = counts.get(term) ?? 0
  if (exact > 0 || term.length < 3) return exact
  let partial = 0
  for (const [word, count] of counts) if (word.startsWith(term)) partial += count / 2
  return partial
}

function countsOf(
  { name, description = '', inputSchema }: Searchable,
  maxLength: number,
): { readonly counts: Counts; readonly size: number } {
  const parameters = isRecord(inputSchema['properties']) ? Object.keys(inputSchema['properties']).join(' ') : ''
  const counts = new Map<string, number>()
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text.slice(0, maxLength))) counts.set(word, (counts.get(word) ?? 0) + weight)
  }
  add(name, nameWeight)
  add(description, 1)
  add(parameters, 1)
  return { counts, size: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

/** Returns the words of a text in lower case; `createIssue` and `create_issue` have two. */
const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []
