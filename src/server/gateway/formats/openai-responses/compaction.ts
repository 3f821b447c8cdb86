import { isRecord, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import type { StopReason } from '../../core/answer-event.ts'
import type { AnswerWriter } from '../../core/client-format.ts'
import { noTokens, type TokenCounts } from '../../tokens/token-counts.ts'
import { responseUsage } from '../shared/openai-answer.ts'

/**
 * Compaction of a conversation on models of other formats: the model itself writes a summary, which the client keeps as the
 * opaque content of a `compaction` item and sends back in place of what it stands for.
 */

const trigger = 'compaction_trigger'
/** An item that stands for the conversation before it, by all names that clients know. */
const compactionTypes = new Set(['compaction', 'compaction_summary', 'context_compaction'])

export const isTrigger = (item: unknown): boolean => recordOf(item)['type'] === trigger

export const isCompaction = (item: unknown): boolean => compactionTypes.has(String(recordOf(item)['type']))

/** True for a request that wants its conversation compacted instead of continued. */
export const asksForCompaction = ({ input }: Json): boolean => isTrigger(listOf(input).at(-1))

const order = `Summarize the conversation so far, for a model that continues the work. The summary takes the place of all of it: of \
what was said and done, that model sees nothing else but messages of the user. State what the user wants, in the user's words \
where they matter; what was done and what was found, with exact names, paths, commands, figures and errors; decisions and their \
reasons; what is left to do, and what comes next. Answer with the summary alone, and call no tools.`

const message = (text: string): Json => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })

/** The items of an input; a text is one message. */
const itemsOf = (input: unknown): readonly unknown[] =>
  Array.isArray(input) ? input : typeof input === 'string' ? [message(input)] : []

/** The request that has the model write the summary. A format that the client wants of answers is none of the summary's. */
export function summaryRequest({ text: _, ...request }: Json): Json {
  const items = itemsOf(request['input']).filter(item => !isTrigger(item))
  return { ...request, input: [...items, message(order)], tool_choice: 'none' }
}

/** How the content of every compaction item of ours begins. No provider's own one does. */
export const summaryPrefix = 'sys1.'

const sealed = (summary: string): string => summaryPrefix + Buffer.from(summary).toString('base64url')

/** What a compaction item says to the model; undefined for an item of another provider, which nobody else can read. */
export function summaryIn(item: Json): string | undefined {
  const content = textIn(item['encrypted_content'])
  if (content === undefined || !content.startsWith(summaryPrefix)) return undefined
  const summary = Buffer.from(content.slice(summaryPrefix.length), 'base64url').toString()
  return `What happened in this conversation before, which is not shown any more:\n\n${summary}`
}

/** The same item for models behind OpenAI's own API, which cannot read ours. */
export const summaryMessage = (item: Json): Json | undefined => {
  const text = summaryIn(item)
  return text === undefined ? undefined : message(text)
}

/** The items of a stored conversation that still matter: what a compaction stands for is left out, but for the user's messages. */
export function sinceCompaction(items: readonly Json[]): readonly Json[] {
  const at = items.findLastIndex(isCompaction)
  return items.filter((item, place) => !isTrigger(item) && (place >= at || isOfUser(item)))
}

const isOfUser = ({ type = 'message', role }: Json): boolean => type === 'message' && role === 'user'

/** Writes a summary as a response whose output is a compaction item; thoughts are left out. */
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
          const block = { type: 'compaction', encrypted_content: sealed(summary) }
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

const noSummary = { code: 'upstream_unreachable', message: 'the model wrote no summary; try again' } as const

interface CompactedOptions {
  /** The part of our ids that is the same in all of an answer. */
  readonly key: string
  readonly createdAt: number
  readonly input: unknown
}

/** Writes a summary as the answer of `/v1/responses/compact`: the user's messages and, behind them, the compaction item. */
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
      const kept = itemsOf(input)
        .filter(isRecord)
        .filter(isOfUser)
        .map((item, at) => ({ id: `msg_${key}_${at}`, ...messageOf(item) }))
      return {
        id: response['id'],
        object: 'response.compaction',
        created_at: createdAt,
        output: [...kept, compaction],
        usage: responseUsage(usage),
      }
    },
    problem: writer.problem,
  }
}

/** A message with all that its short forms leave out. */
const messageOf = ({ content, ...item }: Json): Json => ({
  ...item,
  type: 'message',
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
})
