import { isRecord, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import type { StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter } from '../../core/client-format.ts'
import { noTokens, type TokenCounts } from '../../tokens/token-counts.ts'
import { responseUsage } from '../shared/openai-answer.ts'

/**
 * Compaction for models of other formats: the model writes a summary. The client stores it as the opaque content of a
 * `compaction` item and sends it instead of the summarised conversation.
 */

const trigger = 'compaction_trigger'
/** Types of items that replace the conversation before them. Clients use several names. */
const compactionTypes: ReadonlySet<string> = new Set(['compaction', 'compaction_summary', 'context_compaction'])

export const isTrigger = (item: unknown): boolean => recordOf(item)['type'] === trigger

export const isCompaction = (item: unknown): boolean => compactionTypes.has(String(recordOf(item)['type']))

/** Returns true for a request to compact the conversation instead of continuing it. */
export const requestsCompaction = ({ input }: Json): boolean => isTrigger(listOf(input).at(-1))

const summaryPrompt = `Summarize the conversation so far, for a model that continues the work. The summary takes the place of all of it: of \
what was said and done, that model sees nothing else but messages of the user. State what the user wants, in the user's words \
where they matter; what was done and what was found, with exact names, paths, commands, figures and errors; decisions and their \
reasons; what is left to do, and what comes next. Answer with the summary alone, and call no tools.`

const message = (text: string): Json => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })

/** Returns the items of an input. A string is one message. */
const itemsOf = (input: unknown): readonly unknown[] =>
  Array.isArray(input) ? input : typeof input === 'string' ? [message(input)] : []

/** Returns the request for the summary. The client's response format does not apply to it and is removed. */
export function summaryRequest({ text: _, ...request }: Json): Json {
  const items = itemsOf(request['input']).filter(item => !isTrigger(item))
  return { ...request, input: [...items, message(summaryPrompt)], tool_choice: 'none' }
}

/** Prefix of the content of compaction items created here. Content of providers does not begin with it. */
export const summaryPrefix = 'sys1.'

const encodedSummary = (summary: string): string => summaryPrefix + Buffer.from(summary).toString('base64url')

/** Returns the text of a compaction item for the model; undefined for a provider's item, which only it can read. */
export function summaryIn(item: Json): string | undefined {
  const content = textIn(item['encrypted_content'])
  if (content === undefined || !content.startsWith(summaryPrefix)) return undefined
  const summary = Buffer.from(content.slice(summaryPrefix.length), 'base64url').toString()
  return `What happened in this conversation before, which is not shown any more:\n\n${summary}`
}

/** Converts a compaction item created here to a message, for OpenAI's own API. Undefined for other items. */
export const summaryMessage = (item: Json): Json | undefined => {
  const text = summaryIn(item)
  return text === undefined ? undefined : message(text)
}

/** Returns the items from the last compaction on, and all earlier messages of the user. */
export function sinceCompaction(items: readonly Json[]): readonly Json[] {
  const at = items.findLastIndex(isCompaction)
  return items.filter((item, place) => !isTrigger(item) && (place >= at || isOfUser(item)))
}

const isOfUser = ({ type = 'message', role }: Json): boolean => type === 'message' && role === 'user'

/** Creates a writer that writes the summary as a compaction item. Thinking is left out. */
export function createCompactionWriter(writer: AnswerWriter): AnswerWriter {
  let summary = ''
  let isText = false
  return {
    take(event) {
      switch (event.type) {
        case 'block_start':
          isText = event.block.type === 'text'
          return ''
        case 'block_delta':
          if (isText) summary += event.text
          return ''
        case 'block_signature':
        case 'block_citation':
        case 'block_stop':
          return ''
        case 'message_stop': {
          if (event.reason === 'refusal') return writer.take(event)
          if (summary.trim() === '') return writer.take({ type: 'error', ...noSummary })
          const block = { type: 'compaction', encrypted_content: encodedSummary(summary) }
          return writer.take({ type: 'block_start', block: { type: 'whole', block } }) + writer.take(event)
        }
        default:
          return writer.take(event)
      }
    },
    whole: () => (summary.trim() === '' ? undefined : writer.whole()),
    problem: writer.problem,
  }
}

const noSummary = {
  code: 'upstream_unreachable',
  message: 'model returned an empty summary; retry the request',
} as const

interface CompactedOptions {
  /** Common part of all ids in an answer. */
  readonly key: string
  readonly createdAt: number
  readonly input: unknown
}

/** Creates a writer for `/v1/responses/compact`. Its output is the user's messages, then the compaction item. */
export function createCompactedWriter(writer: AnswerWriter, { key, createdAt, input }: CompactedOptions): AnswerWriter {
  const inner = createCompactionWriter(writer)
  let usage: TokenCounts = noTokens
  let reason: StopReason | undefined
  return {
    take(event) {
      if (event.type === 'message_stop') ({ usage, reason } = event)
      return inner.take(event)
    },
    whole() {
      const isWhole = reason !== 'max_tokens' && reason !== 'refusal'
      const response = isWhole ? recordOf(inner.whole()) : {}
      const compaction = listOf(response['output']).at(-1)
      if (!isRecord(compaction)) return undefined
      const userMessages = itemsOf(input)
        .filter(isRecord)
        .filter(isOfUser)
        .map((item, at) => ({ id: `msg_${key}_${at}`, ...messageOf(item) }))
      return {
        id: response['id'],
        object: 'response.compaction',
        created_at: createdAt,
        output: [...userMessages, compaction],
        usage: responseUsage(usage),
      }
    },
    problem: writer.problem,
  }
}

/** Returns a message in its full form. */
const messageOf = ({ content, ...item }: Json): Json => ({
  ...item,
  type: 'message',
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
})
