import type { McpTool } from '../../../contract/mcp.ts'
import { isRecord, recordOf } from '../../platform/json.ts'

/** From this number of tools on, `/mcp` lists a search instead of the tools. Rulings: 39. */
export const minToolsForSearch = 60

/** Names of the two tools; those of servers contain `__`. */
export const searchName = 'search_tools'
export const callName = 'call_tool'

const defaultLimit = 10
const maxLimit = 50
const maxQuery = 500
/** Characters of a description that count. */
const maxText = 2_000

export const searchTools: readonly McpTool[] = [
  {
    name: searchName,
    description:
      'Finds tools by words, such as "create issue". Returns their names, descriptions and input schemas, best first. Call one with call_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'Words of the name, the description or the parameters',
          maxLength: maxQuery,
        },
        limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit },
      },
      required: ['query'],
    },
  },
  {
    name: callName,
    description: 'Calls a tool that search_tools has returned.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Name of the tool' },
        arguments: { type: 'object', description: 'Arguments that match the input schema of the tool' },
      },
      required: ['name'],
    },
  },
]

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

/**
 * Returns the tools that match the words of the query, best first: BM25 over names, descriptions and parameters, where a
 * word of the name counts three times. Tools with the same score are in the order of their names.
 */
export function foundTools(tools: readonly McpTool[], { query, limit }: SearchRequest): readonly McpTool[] {
  const terms = [...new Set(wordsOf(query))]
  const indexed = tools.map(tool => ({ tool, ...countsOf(tool) }))
  const meanSize = indexed.reduce((sum, { size }) => sum + size, 0) / Math.max(1, indexed.length)
  const rarity = new Map(
    terms.map(term => {
      const having = indexed.filter(({ counts }) => countOf(counts, term) > 0).length
      return [term, Math.log(1 + (indexed.length - having + 0.5) / (having + 0.5))]
    }),
  )
  return indexed
    .map(({ tool, counts, size }) => {
      const score = terms.reduce((sum, term) => {
        const count = countOf(counts, term)
        const damping = repetition * (1 - length + (length * size) / meanSize)
        return sum + ((rarity.get(term) ?? 0) * count * (repetition + 1)) / (count + damping)
      }, 0)
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

function countsOf({ name, description = '', inputSchema }: McpTool): {
  readonly counts: Counts
  readonly size: number
} {
  const parameters = isRecord(inputSchema['properties']) ? Object.keys(inputSchema['properties']).join(' ') : ''
  const counts = new Map<string, number>()
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text.slice(0, maxText))) counts.set(word, (counts.get(word) ?? 0) + weight)
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
